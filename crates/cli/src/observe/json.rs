//! Notices as JSON lines on standard output.

use ipw_core::event::{Notice, Observer};
use ipw_core::text::escaped;

use crate::screen;

pub(crate) struct JsonLines;

impl Observer for JsonLines {
    fn notice(&mut self, notice: &Notice) {
        let mut line = serde_json::to_string(notice).expect("notices serialize");
        line.push('\n');
        screen::print(&escaped(&line));
    }
}
