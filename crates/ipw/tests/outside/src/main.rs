use std::time::{Duration, Instant};

use ipw::own::{Answer, Domain, Meter, Prompts};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("where do runs go?")?;
    let began = Instant::now();
    let meter = Meter::energy("bench", Domain::Gpu, Duration::from_millis(10), move || {
        Ok(began.elapsed().as_secs_f64() * 100.0)
    });
    let finished = ipw::Profile::new("echo")
        .answered_by("echo", |prompt: String| async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let output_tokens = Some(prompt.len() as u64);
            Ok::<_, String>(Answer { text: prompt, input_tokens: None, output_tokens })
        })
        .dataset(Prompts::new("words", [("one", Some("one")), ("two", Some("three"))]))
        .collector(meter)
        .with_plan(|plan| plan.scorer = Some("exact".to_owned()))
        .output_dir(directory)
        .run()
        .await?
        .checked()?;
    finished.open()?.for_each_query(|row| {
        let (joules, right) = (row.energy.joules, row.is_correct);
        println!("{} {:?} {right:?} {joules:?}", row.id, row.output_tokens);
    })?;
    Ok(())
}
