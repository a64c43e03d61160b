//! Scorers over a table of cases, over any text at all, over time, and beside another program.

mod any_text;
mod cases;
mod math_verify;
mod table;
mod time;
