//! The sections of the page, top to bottom.

use std::fmt::Write as _;

use super::drawing;
use crate::markup::{prose, text};
use ipw_core::quantity::{Unit, grouped};
use ipw_core::warning::{Severity, Warning};
use ipw_findings::page::{Cell, Figure, Headline, How, Page, QueryLine, Table};

/// Number of queries in the markup, for readers without scripts.
const WITHOUT_SCRIPT: usize = 100;
/// Marks a redacted page. Texts from outside are escaped, so none can forge it.
pub(super) const REDACTED: &str = "<p class=\"redacted\">";
/// Characters of a prompt shown in a line of the list.
const ONE_LINE: usize = 140;

pub(super) fn all(out: &mut String, page: &Page) {
    out.push_str("<a class=\"skip\" href=\"#main\">Skip to the result</a>\n");
    head(out, page);
    out.push_str("<div class=\"layout\">\n");
    contents(out, page);
    out.push_str("<main id=\"main\" tabindex=\"-1\">\n");
    result(out, page);
    warnings(out, &page.warnings);
    timeline(out, page);
    for figure in &page.figures {
        drawn(out, figure);
    }
    for one in &page.tables {
        section(out, &one.id, &one.title);
        table(out, one);
        out.push_str("</section>\n");
    }
    queries(out, page);
    manifest(out, page);
    calibration(out, page);
    again(out, page);
    out.push_str("</main>\n</div>\n");
    foot(out, page);
}

fn section(out: &mut String, id: &str, title: &str) {
    let _ = writeln!(
        out,
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>",
        text(id),
        text(title)
    );
}

fn head(out: &mut String, page: &Page) {
    let about = &page.about;
    let place = about.hardware.as_deref().map_or(String::new(), |hardware| {
        format!(
            " <span class=\"soft\">on</span> <bdi>{}</bdi>",
            text(hardware)
        )
    });
    let _ = writeln!(
        out,
        "<header class=\"head\">\n<div class=\"bar\"><p class=\"brand\">Intelligence per watt <span class=\"soft\">· run report</span></p>\n{THEMES}</div>\n<h1><bdi>{}</bdi>{place}</h1>\n<p class=\"lede\">{}</p>\n<dl class=\"about\">",
        text(&about.model),
        prose(&page.lede)
    );
    let status = match about.status.as_str() {
        "running" => "not finished",
        other => other,
    };
    let mut facts = vec![("Status", text(status))];
    let mut add = |name: &'static str, value: Option<&String>| {
        facts.extend(value.map(|value| (name, format!("<bdi>{}</bdi>", text(value)))));
    };
    add("Name", about.name.as_ref());
    add("Dataset", about.dataset.as_ref());
    add("Began", about.started.as_ref());
    add("Took", about.duration.as_ref());
    add("ipw", about.ipw.as_ref());
    facts.insert(2.min(facts.len()), ("Queries", grouped(about.rows)));
    for (name, value) in facts {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
    if page.is_redacted {
        out.push_str(REDACTED);
        out.push_str("Redacted: prompts, replies, error texts, names of machines, paths and addresses were left out.</p>\n");
    }
    out.push_str("</header>\n");
}

const THEMES: &str = "<fieldset class=\"themes needs-script\"><legend class=\"unseen\">Colours</legend>\
<label><input type=\"radio\" name=\"theme\" value=\"auto\" checked><span>Auto</span></label>\
<label><input type=\"radio\" name=\"theme\" value=\"light\"><span>Light</span></label>\
<label><input type=\"radio\" name=\"theme\" value=\"dark\"><span>Dark</span></label></fieldset>";

fn contents(out: &mut String, page: &Page) {
    out.push_str("<nav class=\"contents\" aria-label=\"Contents\"><ol>\n");
    let mut entry = |id: &str, title: &str| {
        let _ = writeln!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            text(id),
            text(title)
        );
    };
    entry("result", "Result");
    entry("notes", "What to know");
    entry("timeline", "Over time");
    for figure in &page.figures {
        entry(&figure.id, &figure.title);
    }
    for table in &page.tables {
        entry(&table.id, &table.title);
    }
    entry("queries", "Queries");
    entry("manifest", "Machine and service");
    entry("calibration", "This tool's own error");
    entry("again", "Run it again");
    out.push_str("</ol></nav>\n");
}

fn result(out: &mut String, page: &Page) {
    section(out, "result", "Result");
    out.push_str("<div class=\"cards\">\n");
    let main = page.headline.iter().position(|one| one.value.is_some());
    for (place, one) in page.headline.iter().enumerate() {
        card(out, one, main == Some(place));
    }
    out.push_str("</div>\n</section>\n");
}

fn card(out: &mut String, one: &Headline, is_main: bool) {
    let is_estimated = one.how == Some(How::Estimated);
    let mut classes = vec!["card"];
    classes.extend(is_main.then_some("main-card"));
    classes.extend(is_estimated.then_some("estimated"));
    classes.extend(one.value.is_none().then_some("missing"));
    let _ = writeln!(
        out,
        "<article class=\"{}\" data-id=\"{}\">\n<h3>{}</h3>",
        classes.join(" "),
        text(&one.id),
        text(&one.label)
    );
    let (number, unit) = match &one.value {
        Some(value) => value.rsplit_once(' ').unwrap_or((value, "")),
        None => ("n/a", ""),
    };
    let _ = writeln!(
        out,
        "<p class=\"value\">{} <span class=\"unit\">{}</span></p>",
        text(number),
        text(unit)
    );
    if let Some(detail) = &one.detail {
        let _ = writeln!(out, "<p class=\"detail\">{}</p>", prose(detail));
    }
    if let Some(how) = one.how {
        let _ = writeln!(out, "<p class=\"how\">{}</p>", how.label());
    }
    let _ = writeln!(
        out,
        "<p class=\"meaning\">{}</p>\n</article>",
        prose(&one.meaning)
    );
}

fn warnings(out: &mut String, warnings: &[Warning]) {
    section(out, "notes", "What to know before quoting this");
    if warnings.is_empty() {
        out.push_str("<p>Nothing in the data gives reason for doubt.</p>\n</section>\n");
        return;
    }
    out.push_str("<ul class=\"notes\">\n");
    for warning in warnings {
        let (class, sign) = match warning.severity {
            Severity::Refusal | Severity::Problem => ("problem", "×"),
            Severity::Caution => ("caution", "!"),
            Severity::Hint => ("hint", "i"),
        };
        let _ = write!(
            out,
            "<li class=\"note {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span><div><p><strong>{}:</strong> {}.</p>",
            warning.severity.label(),
            prose(warning.text.trim_end_matches('.'))
        );
        if let Some(advice) = &warning.advice {
            let _ = write!(
                out,
                "<p class=\"advice\">What to do: {}.</p>",
                prose(advice)
            );
        }
        out.push_str("</div></li>\n");
    }
    out.push_str("</ul>\n</section>\n");
}

fn timeline(out: &mut String, page: &Page) {
    section(out, "timeline", "Power and queries over time");
    if page.timeline.seconds <= 0.0 {
        out.push_str("<p>There is nothing to draw: the run has neither readings nor queries.</p>\n</section>\n");
        return;
    }
    out.push_str(
        "<figure class=\"over-time\">\n\
         <div class=\"live needs-script\" id=\"live\">\n\
         <div class=\"tools\" role=\"group\" aria-label=\"Zoom\"><button type=\"button\" data-zoom=\"in\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-zoom=\"out\" aria-label=\"Zoom out\">−</button><button type=\"button\" data-zoom=\"left\" aria-label=\"Earlier\">←</button><button type=\"button\" data-zoom=\"right\" aria-label=\"Later\">→</button><button type=\"button\" data-zoom=\"all\">Whole run</button></div>\n\
         <canvas id=\"canvas\" tabindex=\"0\" role=\"img\" aria-label=\"Power by source above, queries below, over time\" aria-describedby=\"canvas-help\"></canvas>\n\
         <p class=\"readout\" id=\"readout\">Point at a moment to see its power and its query.</p>\n\
         <p class=\"unseen\" id=\"spoken\" aria-live=\"polite\"></p>\n\
         <p class=\"help\" id=\"canvas-help\">Drag to move, pinch or Ctrl + wheel to zoom (once it has the focus, the wheel alone). Keys: <kbd>+</kbd> <kbd>−</kbd> <kbd>←</kbd> <kbd>→</kbd> <kbd>0</kbd> for the whole, <kbd>[</kbd> <kbd>]</kbd> from query to query, <kbd>Enter</kbd> to open one.</p>\n\
         </div>\n<div class=\"still\">\n",
    );
    drawing::timeline(out, page);
    out.push_str("</div>\n");
    legend(out, page);
    let _ = writeln!(
        out,
        "<figcaption>{}</figcaption>\n</figure>\n</section>",
        caption(page)
    );
}

fn caption(page: &Page) -> String {
    let estimated = page.timeline.series.iter().any(|one| one.is_estimated);
    let mut words = if page.timeline.series.is_empty() {
        "No source of power was read. ".to_owned()
    } else {
        "Lines are mean power, bands reach from the least to the largest. ".to_owned()
    };
    if estimated {
        words.push_str("Dashed lines are estimated, not measured. ");
    }
    words.push_str("Each bar below is a query, from its start to its end.");
    text(&words)
}

fn legend(out: &mut String, page: &Page) {
    out.push_str("<ul class=\"legend\">\n");
    for (place, one) in page.timeline.series.iter().enumerate() {
        let how = if one.is_estimated { " (estimated)" } else { "" };
        let dashed = if one.is_estimated { " dashed" } else { "" };
        let _ = writeln!(
            out,
            "<li><span class=\"swatch line series-{}{dashed}\" aria-hidden=\"true\"></span>{}{how}</li>",
            place % 7 + 1,
            text(&one.name)
        );
    }
    for (class, name) in [
        ("right", "right"),
        ("wrong", "wrong"),
        ("ungraded", "not graded"),
        ("failed", "no answer"),
    ] {
        let _ = writeln!(
            out,
            "<li><span class=\"swatch {class}\" aria-hidden=\"true\"></span>{name}</li>"
        );
    }
    out.push_str("</ul>\n");
}

/// A drawing of ours: its markup is trusted, its words are not.
fn drawn(out: &mut String, figure: &Figure) {
    section(out, &figure.id, &figure.title);
    let _ = writeln!(
        out,
        "<figure class=\"drawn\">\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>\n<figcaption>{}</figcaption>\n</figure>\n</section>",
        text(&figure.title),
        figure.svg,
        prose(&figure.caption)
    );
}

fn table(out: &mut String, table: &Table) {
    let _ = writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<caption>{}</caption>\n<thead><tr>",
        text(&table.title),
        prose(&table.caption)
    );
    for column in &table.columns {
        let class = if column.is_number {
            " class=\"number\""
        } else {
            ""
        };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", text(&column.label));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (place, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            self::cell(out, cell, place == 0, column.is_number);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn cell(out: &mut String, cell: &Cell, is_head: bool, is_number: bool) {
    let (open, close) = if is_head {
        ("<th scope=\"row\"", "</th>")
    } else {
        ("<td", "</td>")
    };
    let mut classes = Vec::new();
    classes.extend(is_number.then_some("number"));
    classes.extend(cell.is_estimated.then_some("is-estimated"));
    let class = if classes.is_empty() {
        String::new()
    } else {
        format!(" class=\"{}\"", classes.join(" "))
    };
    let _ = write!(out, "{open}{class}><bdi>{}</bdi>", text(&cell.text));
    if let Some(detail) = &cell.detail {
        let _ = write!(out, "<span class=\"detail\">{}</span>", text(detail));
    }
    out.push_str(close);
}

/// Columns of the list: what they sort by, what they are called, whether they are numbers.
const LISTED: [(&str, &str, bool); 9] = [
    ("index", "#", true),
    ("subject", "Subject", false),
    ("prompt", "Prompt", false),
    ("verdict", "Verdict", false),
    ("outcome", "Outcome", false),
    ("seconds", "Time", true),
    ("first", "First token", true),
    ("tokens", "Tokens in / out", true),
    ("joules", "Energy ± σ", true),
];

fn queries(out: &mut String, page: &Page) {
    section(out, "queries", "Queries");
    let queries = &page.queries;
    let shown = queries.lines.len() as u64;
    let words = if queries.in_all == 0 {
        "This run has no rows.".to_owned()
    } else if shown == queries.in_all {
        format!("All {} queries of the run.", grouped(queries.in_all))
    } else {
        format!(
            "{} of {} queries: an even sample, with failures, the slowest and the costliest.",
            grouped(shown),
            grouped(queries.in_all)
        )
    };
    let _ = writeln!(out, "<p>{words}</p>");
    if shown == 0 {
        out.push_str("</section>\n");
        return;
    }
    tools(out, page);
    out.push_str("<table class=\"list\" id=\"list\">\n<caption class=\"unseen\">Queries one by one. Open a row for its texts, times and energy.</caption>\n<thead><tr>");
    for (key, label, is_number) in LISTED {
        let class = if is_number { " class=\"number\"" } else { "" };
        let _ = write!(
            out,
            "<th scope=\"col\" data-key=\"{key}\"{class}>{label}</th>"
        );
    }
    out.push_str("</tr></thead>\n<tbody id=\"rows\">\n");
    for line in queries.lines.iter().take(WITHOUT_SCRIPT) {
        listed(out, line);
    }
    out.push_str("</tbody>\n</table>\n");
    if queries.lines.len() > WITHOUT_SCRIPT {
        let _ = writeln!(
            out,
            "<p class=\"without-script\">The first {WITHOUT_SCRIPT}; the others are shown where scripts may run.</p>"
        );
    }
    out.push_str("<div class=\"pager needs-script\" id=\"pager\"><button type=\"button\" data-page=\"back\">← Back</button><span id=\"page-of\"></span><button type=\"button\" data-page=\"on\">On →</button></div>\n</section>\n");
}

fn tools(out: &mut String, page: &Page) {
    let queries = &page.queries;
    out.push_str("<div class=\"list-tools needs-script\">\n<label class=\"search\"><span class=\"unseen\">Search in queries</span><input type=\"search\" id=\"search\" placeholder=\"Search (press /)\" autocomplete=\"off\" spellcheck=\"false\"></label>\n<label class=\"sort\">Sort by <select id=\"sort\">");
    for (key, label, _) in LISTED {
        let _ = write!(out, "<option value=\"{key}\">{label}</option>");
    }
    out.push_str(
        "</select></label>\n<div class=\"chips\" role=\"group\" aria-label=\"Show only\">",
    );
    let chips = [
        ("wrong", "Wrong", true),
        ("failed", "Failed", true),
        ("slow", "Slowest 5 %", queries.slow.is_some()),
        ("costly", "Costliest 5 %", queries.costly.is_some()),
    ];
    for (key, label, _) in chips.iter().filter(|(_, _, is_there)| *is_there) {
        let _ = write!(
            out,
            "<button type=\"button\" class=\"chip\" data-chip=\"{key}\" aria-pressed=\"false\">{label}</button>"
        );
    }
    out.push_str("</div>\n<p class=\"matches\" id=\"matches\" role=\"status\" aria-live=\"polite\"></p>\n</div>\n");
}

/// A line of the list, as the script draws it, too.
fn listed(out: &mut String, line: &QueryLine) {
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "n/a".to_owned());
    let verdict = match line.is_correct {
        Some(true) => ("right", "✓ right"),
        Some(false) => ("wrong", "✗ wrong"),
        None => ("ungraded", "– not graded"),
    };
    let prompt = match &line.prompt {
        Some(prompt) => one_line(&prompt.text),
        None => "(redacted)".to_owned(),
    };
    let tokens = |count: Option<u64>| or_unknown(count.map(grouped));
    let joules = line.joules.map(|joules| Unit::Joules.show(joules));
    let sigma = line
        .joules
        .and(line.sigma_joules)
        .map_or(String::new(), |sigma| {
            format!(
                "<span class=\"detail\">± {}</span>",
                Unit::Joules.show(sigma)
            )
        });
    let seconds = |value: Option<f64>| or_unknown(value.map(|value| Unit::Seconds.show(value)));
    let class = if line.is_estimated {
        " is-estimated"
    } else {
        ""
    };
    let cells = [
        ("number", "#", line.index.to_string()),
        ("", "Subject", text(line.subject.as_deref().unwrap_or("–"))),
        ("prompt", "Prompt", text(&prompt)),
        (verdict.0, "Verdict", verdict.1.to_owned()),
        ("", "Outcome", text(&line.outcome)),
        ("number", "Time", seconds(line.seconds)),
        (
            "number",
            "First token",
            seconds(line.time_to_first_token_seconds),
        ),
        (
            "number",
            "Tokens in / out",
            format!(
                "{} / {}",
                tokens(line.input_tokens),
                tokens(line.output_tokens)
            ),
        ),
    ];
    out.push_str("<tr>");
    for (class, label, value) in cells {
        let _ = write!(
            out,
            "<td class=\"{class}\" data-label=\"{label}\"><bdi>{value}</bdi></td>"
        );
    }
    let _ = writeln!(
        out,
        "<td class=\"number{class}\" data-label=\"Energy ± σ\"><bdi>{}</bdi>{sigma}</td></tr>",
        or_unknown(joules)
    );
}

fn one_line(prompt: &str) -> String {
    let flat = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    ipw_core::text::excerpt(&flat, ONE_LINE)
}

fn manifest(out: &mut String, page: &Page) {
    section(out, "manifest", "Machine and service");
    out.push_str("<div class=\"facts\">\n");
    for section in &page.manifest {
        let _ = writeln!(
            out,
            "<div class=\"fact\"><h3>{}</h3>\n<dl>",
            text(&section.title)
        );
        for (name, value) in &section.facts {
            let _ = writeln!(
                out,
                "<div><dt>{}</dt><dd><bdi>{}</bdi></dd></div>",
                text(name),
                prose(value)
            );
        }
        out.push_str("</dl></div>\n");
    }
    out.push_str("</div>\n</section>\n");
}

fn calibration(out: &mut String, page: &Page) {
    section(out, "calibration", "This tool's own error");
    let _ = writeln!(out, "<p>{}</p>", prose(&page.calibration.text));
    if !page.calibration.out.is_empty() {
        out.push_str("<ul class=\"plain\">\n");
        for one in &page.calibration.out {
            let _ = writeln!(out, "<li>{}</li>", prose(one));
        }
        out.push_str("</ul>\n");
    }
    if let Some(one) = &page.calibration.table {
        let _ = writeln!(
            out,
            "<details><summary>All {} checks</summary>",
            one.rows.len()
        );
        table(out, one);
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn again(out: &mut String, page: &Page) {
    section(out, "again", "Run it again");
    let _ = writeln!(
        out,
        "<p>This plan is <code>plan.toml</code> in the run's directory.</p>\n<pre tabindex=\"0\" aria-label=\"Command\"><code>{}</code></pre>",
        text(&page.command)
    );
    match &page.plan {
        Some(plan) => {
            let _ = writeln!(
                out,
                "<details><summary>The plan</summary><pre tabindex=\"0\" aria-label=\"Plan\"><code>{}</code></pre></details>",
                text(plan.trim_end())
            );
        }
        None => out.push_str("<p>The run has no readable plan.</p>\n"),
    }
    out.push_str("</section>\n");
}

fn foot(out: &mut String, page: &Page) {
    let version = page.about.ipw.as_deref().unwrap_or("an unknown version");
    let _ = writeln!(
        out,
        "<footer class=\"foot\"><p>Made by ipw {}; measured with ipw {}. This file is complete in itself: it loads nothing and sends nothing. n/a means not known, never zero.</p></footer>",
        env!("CARGO_PKG_VERSION"),
        text(version)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_of_many_lines_is_one() {
        assert_eq!(one_line(" a\n\n b\tc "), "a b c");
        assert!(one_line(&"x ".repeat(500)).ends_with('…'));
    }
}
