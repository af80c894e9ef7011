//! The page that a browser sees first.

use axum::response::Html;

const INDEX: &str = include_str!("../page/index.html");

pub(crate) async fn index() -> Html<&'static str> {
    Html(INDEX)
}
