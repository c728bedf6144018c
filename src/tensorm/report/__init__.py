"""A fit for its readers: sentences, plots and a page for the browser."""
