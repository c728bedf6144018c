"""A vector of 64-bit words inside numba: the LLVM vector type, made usable from a kernel.

LLVM turns it into AVX-512 (with `vpopcntq`), AVX2 or NEON, whatever the processor has. Its width is a
compile-time constant that follows from `span`, a tuple of n zeros: n times four words.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 4  # words per zero in `span`: 256 bits


class WordsType(types.Type):
    """The numba type of a vector of `lanes` unsigned 64-bit words."""

    def __init__(self, lanes):
        self.lanes = lanes
        super().__init__(name=f"words{lanes}")


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _llvm(fe_type))


def _llvm(words):
    return ir.VectorType(ir.IntType(64), words.lanes)


def _pointer(context, builder, array_type, array, offset, target):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), target.as_pointer())


def _reduce(builder, name, result, argument):
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [argument.type]), name)
    return builder.call(function, [argument])


@intrinsic
def load_words(typing, array, offset, span):
    """The vector that starts at word `offset` of an array, which must be contiguous."""
    words = WordsType(LANES * span.count)

    def codegen(context, builder, sig, args):
        value = builder.load(_pointer(context, builder, sig.args[0], args[0], args[1], _llvm(words)))
        value.align = 8
        return value

    return words(array, types.int64, span), codegen


@intrinsic
def store_words(typing, array, offset, vector):
    """Write the vector to word `offset` of an array and those that follow."""

    def codegen(context, builder, sig, args):
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1], _llvm(sig.args[2]))
        builder.store(args[2], pointer).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), codegen


@intrinsic
def prefetch(typing, array, offset):
    """Ask for the cache line of word `offset`, which need not exist: it will be read soon."""

    def codegen(context, builder, sig, args):
        byte, i32 = ir.IntType(8), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte.as_pointer(),), kind)
        # For reading (0), into the second cache (2) since the first has no room to spare, of data (1).
        how = [ir.Constant(i32, number) for number in (0, 2, 1)]
        builder.call(function, [_pointer(context, builder, sig.args[0], args[0], args[1], byte), *how])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def zeros(typing, span):
    """The vector of zeros."""
    words = WordsType(LANES * span.count)
    return words(span), lambda c, b, s, a: ir.Constant(_llvm(words), [0] * words.lanes)


@intrinsic
def ones(typing, span):
    """The vector of set bits."""
    words = WordsType(LANES * span.count)
    return words(span), lambda c, b, s, a: ir.Constant(_llvm(words), [2**64 - 1] * words.lanes)


@intrinsic
def all_but(typing, bit, span):
    """The vector of set bits but for one, by its number; it may lie outside."""
    words = WordsType(LANES * span.count)

    def codegen(context, builder, sig, args):
        i64, kind = ir.IntType(64), _llvm(words)
        lane = builder.ashr(args[0], ir.Constant(i64, 6))
        here = builder.shl(ir.Constant(i64, 1), builder.and_(args[0], ir.Constant(i64, 63)))
        mine = builder.icmp_unsigned(
            "==", spread(builder, lane, kind), ir.Constant(kind, list(range(words.lanes)))
        )
        single = builder.select(mine, spread(builder, here, kind), ir.Constant(kind, [0] * words.lanes))
        return builder.not_(single)

    return words(types.int64, span), codegen


@intrinsic
def both(typing, x, y):
    """x & y."""
    return x(x, y), lambda c, b, s, a: b.and_(a[0], a[1])


@intrinsic
def without(typing, x, y):
    """x & ~y."""
    return x(x, y), lambda c, b, s, a: b.and_(a[0], b.not_(a[1]))


@intrinsic
def turned(typing, x, word):
    """x ^ the same word everywhere: its complement, or itself."""
    return x(x, types.uint64), lambda c, b, s, a: b.xor(a[0], spread(b, a[1], _llvm(x)))


@intrinsic
def add(typing, x, y):
    """Sum, word by word."""
    return x(x, y), lambda c, b, s, a: b.add(a[0], a[1])


@intrinsic
def popcount(typing, x):
    """Set bits of each word."""
    name = f"llvm.ctpop.v{x.lanes}i64"
    return x(x), lambda c, b, s, a: _reduce(b, name, _llvm(x), a[0])


@intrinsic
def total(typing, x):
    """Sum of all words."""
    name = f"llvm.vector.reduce.add.v{x.lanes}i64"
    return types.int64(x), lambda c, b, s, a: _reduce(b, name, ir.IntType(64), a[0])


@intrinsic
def lowest_bit(typing, x):
    """Position of the lowest set bit of a word that is not 0."""
    return types.int64(types.uint64), lambda c, b, s, a: b.cttz(a[0], ir.Constant(ir.IntType(1), 1))


@intrinsic
def count_bits(typing, x):
    """Set bits of one word."""
    return types.int64(types.uint64), lambda c, b, s, a: b.ctpop(a[0])


@intrinsic
def exceeds(typing, array, offset, value, span):
    """The vector whose bit t says value > array[offset + t]."""
    return _compare(">", array, value, span)


@intrinsic
def differs(typing, array, offset, value, span):
    """The vector whose bit t says value != array[offset + t]."""
    return _compare("!=", array, value, span)


@intrinsic
def store_exceeding(typing, target, place, array, offset, value, turn):
    """Write to one word the bits that say value > array[offset + t], each exchanged by those of `turn`."""

    def codegen(context, builder, sig, args):
        numbers = ir.VectorType(ir.IntType(array.dtype.bitwidth), 64)
        part = builder.load(_pointer(context, builder, sig.args[2], args[2], args[3], numbers))
        part.align = array.dtype.bitwidth // 8
        bits = builder.icmp_unsigned(">", spread(builder, args[4], numbers), part)
        word = builder.xor(builder.bitcast(bits, ir.IntType(64)), args[5])
        builder.store(word, _pointer(context, builder, sig.args[0], args[0], args[1], ir.IntType(64)))
        return context.get_dummy_value()

    i64 = types.int64
    return types.void(target, i64, array, i64, array.dtype, types.uint64), codegen


@intrinsic
def count_each(typing, counters, offset, word):
    """Add each bit of a word to one of the 64 numbers from an offset on."""

    def codegen(context, builder, sig, args):
        bits, numbers = (
            ir.VectorType(ir.IntType(1), 64),
            ir.VectorType(ir.IntType(counters.dtype.bitwidth), 64),
        )
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1], numbers)
        before = builder.load(pointer)
        before.align = counters.dtype.bitwidth // 8
        after = builder.add(before, builder.zext(builder.bitcast(args[2], bits), numbers))
        builder.store(after, pointer).align = counters.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(counters, types.int64, types.uint64), codegen


@intrinsic
def drop_bit(typing, array, offset, bit):
    """Clear one bit, by its number, of the words from an offset on."""

    def codegen(context, builder, sig, args):
        i64 = ir.IntType(64)
        place = builder.add(args[1], builder.ashr(args[2], ir.Constant(i64, 6)))
        pointer = _pointer(context, builder, sig.args[0], args[0], place, i64)
        mine = builder.shl(ir.Constant(i64, 1), builder.and_(args[2], ir.Constant(i64, 63)))
        builder.store(builder.and_(builder.load(pointer), builder.not_(mine)), pointer)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


def _compare(sign, array, value, span):
    """64 numbers at a time: their bits are one word."""
    words = WordsType(LANES * span.count)

    def codegen(context, builder, sig, args):
        numbers = ir.VectorType(ir.IntType(array.dtype.bitwidth), 64)
        same = spread(builder, args[2], numbers)

        def compare(part):
            return builder.icmp_unsigned(sign, same, part)

        return by_words(context, builder, sig, args, numbers, words, compare)

    return words(array, types.int64, array.dtype, span), codegen


def spread(builder, value, vector):
    """The vector that has one value everywhere."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    )


def by_words(context, builder, sig, args, numbers, words, judge):
    """The vector of words whose bits are `judge` of the numbers in an array, from an offset on."""
    found = ir.Constant(_llvm(words), ir.Undefined)
    for lane in range(words.lanes):
        offset = builder.add(args[1], ir.Constant(ir.IntType(64), 64 * lane))
        part = builder.load(_pointer(context, builder, sig.args[0], args[0], offset, numbers))
        part.align = sig.args[0].dtype.bitwidth // 8
        bits = builder.bitcast(judge(part), ir.IntType(64))
        found = builder.insert_element(found, bits, ir.Constant(ir.IntType(32), lane))
    return found
