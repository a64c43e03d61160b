//! Generate queries in code: a dataset with reference answers, subjects and metadata.
//!
//! `cargo run --example own_dataset [OUTPUT_DIRECTORY]`

#![expect(clippy::print_stdout, reason = "an example prints")]

use ipw::Dataset;
use ipw::parts::core::dataset::{Queries, ReadError};
use ipw::parts::core::query::Query;
use ipw::parts::core::shape::Shape;

/// The nine products of 1, 2 and 3. Queries are made lazily, as the run sends them.
struct Products {
    /// Names and types of the metadata fields. They become columns before the first row.
    shape: Shape,
}

impl Dataset for Products {
    fn id(&self) -> &'static str {
        "products"
    }

    fn name(&self) -> &'static str {
        "products"
    }

    fn size(&self) -> Option<u64> {
        Some(9)
    }

    fn metadata_shape(&self) -> &Shape {
        &self.shape
    }

    fn queries(&self) -> Result<Queries<'_>, ReadError> {
        Ok(Box::new((0..9).map(|index| {
            let (a, b) = (index / 3 + 1, index % 3 + 1);
            let mut query = Query::asking(format!("{a} times {b}?"));
            query.index = index;
            query.id = format!("{a}x{b}");
            query.answer = Some((a * b).to_string());
            query.subject = Some(format!("times {b}"));
            query.metadata.insert("row".to_owned(), index.into());
            // The scorer that grades this answer.
            query.metadata.insert("scorer".to_owned(), "numeric".into());
            Ok(query)
        })))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ipw::Error> {
    let runs = std::env::args().nth(1).unwrap_or_else(|| "runs".to_owned());
    let field = |name: &str, shape| (name.to_owned(), shape);
    let shape = Shape::Struct(vec![field("row", Shape::Int), field("scorer", Shape::Text)]);
    let finished = ipw::Profile::new("constant")
        .answered_by("constant", |_| async { Ok::<_, String>("It is 6.") })
        .dataset(Products { shape })
        .output_dir(runs)
        .run()
        .await?
        .checked()?;
    println!(
        "{} of {} right",
        finished.overview.verdicts.correct, finished.overview.rows
    );
    Ok(())
}
