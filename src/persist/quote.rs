//! Names of disks in patterns and in names of files: a vendor chooses them. Pure.

/// A pattern of udev that matches exactly this text, and texts that differ in special characters only: udev has no way to
/// quote them, so they match any character.
pub fn glob(text: &str) -> String {
    text.chars()
        .map(|c| if is_plain(c) { c } else { '?' })
        .collect()
}

/// The same as a regular expression. udev writes blanks of a model as underscores for some buses.
pub fn regex(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.chars()
        .map(|c| if is_safe(c) { c } else { '.' })
        .collect()
}

/// Letters, digits and dashes.
pub fn slug(text: &str) -> String {
    let dashed: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    match words.join("-") {
        name if name.is_empty() => "disk".to_owned(),
        name => name.chars().take(60).collect(),
    }
}

/// Whether a value may stand in quotes in every format.
pub fn is_plain_value(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| is_plain(c) || matches!(c, '[' | ']'))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " ._-+:/,()#@=~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_no_program() {
        assert_eq!(glob("Samsung SSD 980 PRO"), "Samsung SSD 980 PRO");
        assert_eq!(glob("a\"b$c%d*e\\f\ng|h'i"), "a?b?c?d?e?f?g?h?i");
        assert_eq!(regex("Samsung SSD (980)"), "Samsung.SSD..980.");
        assert_eq!(slug("Samsung SSD 980 PRO"), "samsung-ssd-980-pro");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("\u{202e}"), "disk");
        assert!(is_plain_value("100 200") && !is_plain_value("$(id)") && !is_plain_value(""));
    }
}
