//! Samples of sales and the numbers of the desk.
