//! Scorers on a table of cases, on random texts, for time, and compared with another program.

mod any_text;
mod cases;
mod math_verify;
mod table;
mod time;
