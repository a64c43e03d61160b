//! Measure code in this process: a closure is the client, and its answers are graded.
//!
//! `cargo run --example own_client [OUTPUT_DIRECTORY]`

#![expect(clippy::print_stdout, reason = "an example prints")]

use ipw::own::{Answer, Prompts};

/// Stands in for a model: adds up the numbers in the prompt.
async fn answer(prompt: String) -> Result<Answer, String> {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let numbers = prompt.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    if numbers.is_empty() {
        return Err("the prompt has no number".to_owned());
    }
    Ok(Answer {
        text: format!("The sum is {}.", numbers.iter().sum::<u64>()),
        input_tokens: Some(prompt.split_whitespace().count() as u64),
        output_tokens: Some(4),
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ipw::Error> {
    let runs = std::env::args().nth(1).unwrap_or_else(|| "runs".to_owned());
    // Prompts with their reference answers. The second reference is wrong on purpose.
    let sums = [("What is 2 + 3?", Some("5")), ("What is 4 + 4?", Some("9"))];
    let finished = ipw::Profile::new("adder")
        .answered_by("adder", answer)
        .dataset(Prompts::new("sums", sums))
        .with_plan(|plan| plan.scorer = Some("numeric".to_owned()))
        .output_dir(runs)
        .run()
        .await?
        .checked()?;
    let verdicts = finished.overview.verdicts;
    println!("{} right, {} wrong", verdicts.correct, verdicts.wrong);
    Ok(())
}
