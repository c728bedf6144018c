// A picture of fields in rows and columns: pointer, keys, zoom, highlighted labels, and saving.
// parts: rows, columns: how many; rowLabel(i), columnLabel(j); value(i, j): percent, null to leave out, -1 if
// missing; shade(value): colour; say(i, j): text; width: pixels; marks: { row(i), column(j) -> colour or null };
// lit: { row(i), column(j) }; click(i, j), clickRow(i), clickColumn(j); square; name.
const STRIP = 6;
const grids = {}; // what is zoomed, by name: while the page is open

const makeGrid = parts => {
  const whole0 = { top: 0, left: 0, bottom: parts.rows, right: parts.columns };
  const zoom = (grids[parts.zoomName || parts.name] ??= { ...whole0 });
  if (zoom.bottom > parts.rows || zoom.right > parts.columns || zoom.bottom <= zoom.top) Object.assign(zoom, whole0);
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "picture of cells",
    class: "grid",
    "aria-label": parts.name + "; use the arrow keys to move, plus and minus to zoom, Enter to open",
  });
  let at = null,
    frame = null,
    drag = null;

  const measure = () => {
    const down = zoom.bottom - zoom.top,
      across = zoom.right - zoom.left;
    const longest = (count, read) => widest(range(Math.min(count, 200)).map(read), 11, parts.width < 320 ? 64 : 120);
    const most = parts.most || 16,
      fit = size => (size >= 8 ? Math.floor(size) : size);
    const besides = STRIP + 2 + longest(down, i => parts.rowLabel(zoom.top + i)),
      above = STRIP + 2 + longest(across, j => parts.columnLabel(zoom.left + j));
    const named = Math.min(most, (parts.width - besides) / across) >= 9; // labels, if fields are large enough
    const head = named ? above : STRIP + 2;
    const left =
      Math.min(most, (parts.width - besides) / across, ((parts.height || 1e6) - head) / down) >= 9
        ? besides
        : STRIP + 2;
    const field = fit(clamp((parts.width - left) / across, 0.5, most));
    const tall = fit(clamp(parts.height ? Math.min(field, (parts.height - head) / down) : field, 0.5, most));
    return { left, head, field, tall, down, across };
  };
  const paint = (pen, saving = false) => {
    const { left, head, field, tall, down, across } = frame;
    const gap = Math.min(field, tall) >= 5 ? 1 : 0;
    for (let i = 0; i < down; i++)
      for (let j = 0; j < across; j++) {
        const value = parts.value(zoom.top + i, zoom.left + j);
        if (value === null) continue;
        const x = Math.round(left + j * field),
          y = Math.round(head + i * tall);
        pen.fillStyle =
          value < 0 && !parts.signed ? colours.hatch : (parts.shade || (v => colours.shades[Math.round(v)]))(value);
        pen.fillRect(
          x,
          y,
          Math.max(1, Math.round(left + (j + 1) * field) - x - gap),
          Math.max(1, Math.round(head + (i + 1) * tall) - y - gap),
        );
      }
    setFont(pen, Math.min(11, tall));
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const lit = parts.lit || {};
    for (let i = 0; i < down; i++) {
      const row = zoom.top + i,
        y = head + i * tall,
        strip = parts.marks && parts.marks.row(row);
      if (strip) {
        pen.fillStyle = strip;
        pen.fillRect(left - STRIP - 1, y, STRIP - 2, tall - gap);
      }
      if (lit.row && lit.row(row)) {
        pen.strokeStyle = colours.cross;
        pen.strokeRect(left - 1, y, across * field, Math.max(2, tall - gap));
      }
      if (left <= STRIP + 2) continue;
      pen.fillStyle = lit.row && lit.row(row) ? colours.cross : colours.ink;
      pen.fillText(shorten(pen, parts.rowLabel(row), left - STRIP - 6), left - STRIP - 4, y + tall / 2);
    }
    setFont(pen, Math.min(11, field));
    pen.textAlign = "left";
    for (let j = 0; j < across; j++) {
      const column = zoom.left + j,
        x = left + j * field,
        strip = parts.marks && parts.marks.column(column);
      if (strip) {
        pen.fillStyle = strip;
        pen.fillRect(x, head - STRIP - 1, field - gap, STRIP - 2);
      }
      if (lit.column && lit.column(column)) {
        pen.strokeStyle = colours.cross;
        pen.strokeRect(x, head - 1, Math.max(2, field - gap), down * tall);
      }
      if (head <= STRIP + 2) continue;
      pen.fillStyle = lit.column && lit.column(column) ? colours.cross : colours.ink;
      pen.save();
      pen.translate(x + field / 2, head - STRIP - 4);
      pen.rotate(-Math.PI / 2);
      pen.fillText(shorten(pen, parts.columnLabel(column), head - STRIP - 6), 0, 0);
      pen.restore();
    }
    if (saving) return;
    pen.strokeStyle = colours.cross;
    pen.lineWidth = 2;
    if (at)
      pen.strokeRect(
        left + (at.column - zoom.left) * field - 0.5,
        head + (at.row - zoom.top) * tall - 0.5,
        Math.max(3, field),
        Math.max(3, tall),
      );
    if (drag && drag.x !== undefined)
      pen.strokeRect(
        Math.min(drag.x, drag.x0),
        Math.min(drag.y, drag.y0),
        Math.abs(drag.x - drag.x0),
        Math.abs(drag.y - drag.y0),
      );
  };
  const size = () => [
    Math.ceil(frame.left + frame.across * frame.field),
    Math.ceil(frame.head + frame.down * frame.tall),
  ];
  const draw = () => {
    frame = measure();
    paint(prepare(canvas, ...size()));
  };
  const find = (x, y) => {
    const row = zoom.top + Math.floor((y - frame.head) / frame.tall),
      column = zoom.left + Math.floor((x - frame.left) / frame.field);
    const inRows = y >= frame.head && row < zoom.bottom,
      inColumns = x >= frame.left && column < zoom.right;
    return { row: inRows ? row : null, column: inColumns ? column : null };
  };
  const point = where => {
    at = where;
    draw();
    for (const other of parts.twins || []) if (other !== grid) other.follow(where);
  };
  const leave = () => {
    hideTip();
    drag = null;
    if (at) point(null);
  };
  const resize = changes => {
    Object.assign(zoom, changes);
    at = null;
    hideTip();
    draw();
    for (const other of parts.twins || []) if (other !== grid) other.draw();
  };
  const scale = factor => {
    const part = (low, high, most, middle) => {
      const length = clamp(Math.round((high - low) * factor), Math.min(4, most), most),
        start = clamp(Math.round(middle - length / 2), 0, most - length);
      return [start, start + length];
    };
    const middle = at || { row: (zoom.top + zoom.bottom) / 2, column: (zoom.left + zoom.right) / 2 };
    const [top, bottom] = part(zoom.top, zoom.bottom, parts.rows, middle.row),
      [left, right] = part(zoom.left, zoom.right, parts.columns, middle.column);
    resize({ top, bottom, left, right });
  };
  const act = where => {
    if (where.row !== null && where.column !== null && parts.click) parts.click(where.row, where.column);
    else if (where.row !== null && where.column === null && parts.clickRow) parts.clickRow(where.row);
    else if (where.column !== null && where.row === null && parts.clickColumn) parts.clickColumn(where.column);
  };

  canvas.addEventListener("pointerdown", event => {
    if (event.pointerType === "mouse" && event.button === 0) drag = { x0: event.offsetX, y0: event.offsetY };
  });
  canvas.addEventListener("pointermove", event => {
    if (drag && parts.zoomable && Math.hypot(event.offsetX - drag.x0, event.offsetY - drag.y0) > 6) {
      Object.assign(drag, { x: event.offsetX, y: event.offsetY });
      return draw();
    }
    const where = find(event.offsetX, event.offsetY);
    if (where.row === null || where.column === null) {
      if (at) leave();
      const text =
        where.row !== null ? parts.rowLabel(where.row) : where.column !== null ? parts.columnLabel(where.column) : "";
      return text ? showTip(text, event.clientX, event.clientY) : hideTip();
    }
    point(where);
    showTip(parts.say(where.row, where.column), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", event => {
    const done = drag;
    drag = null;
    if (!done || done.x === undefined)
      return event.pointerType === "mouse" && event.button ? null : act(find(event.offsetX, event.offsetY));
    const inside = (value, low, high) => clamp(value, low, high - 0.01);
    const [x0, x1] = [done.x0, done.x].sort((a, b) => a - b),
      [y0, y1] = [done.y0, done.y].sort((a, b) => a - b);
    const column = x => zoom.left + Math.floor(inside((x - frame.left) / frame.field, 0, frame.across)),
      row = y => zoom.top + Math.floor(inside((y - frame.head) / frame.tall, 0, frame.down));
    resize({ left: column(x0), right: column(x1) + 1, top: row(y0), bottom: row(y1) + 1 });
  });
  canvas.addEventListener("pointerleave", event => event.pointerType === "mouse" && leave());
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("dblclick", () => parts.zoomable && resize(whole0));
  canvas.addEventListener("keydown", event => {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Escape" && at) {
      event.stopPropagation();
      return leave();
    }
    if (event.key === "Enter" && at && parts.click) return parts.click(at.row, at.column);
    if (parts.zoomable && ["+", "=", "-", "0"].includes(event.key)) {
      event.preventDefault();
      return event.key === "0" ? resize(whole0) : scale(event.key === "-" ? 2 : 0.5);
    }
    const next = nextCell(event, at, zoom);
    if (!next) return;
    point(next);
    const box = canvas.getBoundingClientRect();
    showTip(
      parts.say(at.row, at.column),
      box.left + frame.left + (at.column - zoom.left + 1) * frame.field,
      box.top + frame.head + (at.row - zoom.top) * frame.tall,
    );
  });
  const grid = {
    canvas,
    draw,
    paint,
    size,
    scale,
    reset: () => resize(whole0),
    follow: where => {
      at = where;
      draw();
    },
  };
  grid.save = () => saveButtons(parts.name, size, paint);
  if (parts.twins) parts.twins.push(grid);
  draw();
  return grid;
};
const zoomButtons = grid =>
  h(
    "span",
    { class: "zoom" },
    button("+", () => grid.scale(0.5), {
      "aria-label": "Zoom in",
      title: "Zoom in; or drag over a part of the picture",
    }),
    button("−", () => grid.scale(2), { "aria-label": "Zoom out", title: "Zoom out" }),
    button("all", () => grid.reset(), { "aria-label": "Show everything", title: "Show everything" }),
  );
