//! Profile an endpoint with an OpenAI-compatible API, and print its energy.
//!
//! `cargo run --example profile_endpoint [URL] [MODEL] [OUTPUT_DIRECTORY]`

#![expect(clippy::print_stdout, reason = "an example prints")]

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ipw::Error> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (url, model, runs) = (next("http://127.0.0.1:8080"), next("default"), next("runs"));
    let finished = ipw::Profile::new(model)
        .service("openai", url)
        .dataset_named("starter")
        .max_queries(5)
        .param("max_tokens", 32)
        .output_dir(runs)
        .run()
        .await?
        .checked()?;
    println!("{} rows", finished.overview.rows);
    // The basis says which sources the energy is summed over, for example GPUs.
    let energy = &finished.overview.energy;
    println!("{:?} J (basis: {:?})", energy.joules, energy.basis);
    println!("{}", finished.directory.display());
    Ok(())
}
