//! Text for comments, whatever language has them. Pure.

/// No quotes, no braces, no dollars, no backslashes, and nothing that ends a line, in any of the
/// languages that read it.
pub fn comment(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || " ._-+:/,()@=%;<>[]!~".contains(c);
    text.chars()
        .map(|c| if is_safe(c) { c } else { '?' })
        .collect()
}
