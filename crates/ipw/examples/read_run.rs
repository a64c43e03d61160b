//! Read a finished run, and print its energy per output token.
//!
//! `cargo run --example read_run RUN_DIRECTORY`

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "an example prints, and no run has 2^52 tokens"
)]

use ipw::row::Fields;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args()
        .nth(1)
        .ok_or("usage: read_run RUN_DIRECTORY")?;
    let run = ipw::run::open(directory.as_ref())?;
    let (mut joules, mut tokens) = (0.0, 0);
    // Only the columns of these fields are read from disk.
    run.for_each(Fields::ENERGY | Fields::TOKENS, |row| {
        // Unknown values are `None`, never 0: leave such rows out of both sums.
        if let (Some(energy), Some(output)) = (row.energy.joules, row.output_tokens) {
            joules += energy;
            tokens += output;
        }
    })?;
    if tokens == 0 {
        println!("no row has both energy and tokens");
    } else {
        println!("{:.3} J per output token", joules / tokens as f64);
    }
    Ok(())
}
