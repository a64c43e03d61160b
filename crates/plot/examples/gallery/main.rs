//! Every figure with synthetic data: `cargo run -p ipw-plot --example gallery -- DIR`.

mod samples;

use std::path::PathBuf;

use anyhow::Context as _;
use ipw_plot::{Mode, Style};

fn main() -> anyhow::Result<()> {
    let directory: PathBuf = std::env::args_os()
        .nth(1)
        .context("no directory\nhelp: gallery DIR")?
        .into();
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make `{}`", directory.display()))?;
    for (name, draw) in samples::figures() {
        let write = |suffix: &str, bytes: &[u8]| {
            let path = directory.join(format!("{name}{suffix}"));
            std::fs::write(&path, bytes)
                .with_context(|| format!("cannot write `{}`", path.display()))
        };
        write(".svg", draw(&Style::new(Mode::Standalone)).as_bytes())?;
        #[cfg(feature = "png")]
        for (suffix, mode) in [("-light.png", Mode::Light), ("-dark.png", Mode::Dark)] {
            write(suffix, &ipw_plot::png(&draw(&Style::new(mode)), 2.0)?)?;
        }
    }
    Ok(())
}
