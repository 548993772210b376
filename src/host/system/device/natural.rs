//! The order of names that end in numbers.

/// A key that orders loop2 before loop10.
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, from_digit) = rest.split_at(text);
        let digits = from_digit
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(from_digit.len());
        let (digits, after) = from_digit.split_at(digits);
        parts.push((text.to_owned(), digits.parse().unwrap_or(0)));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        let sorted = [
            "dm-9", "dm-10", "loop2", "loop10", "nvme0n1", "nvme0n2", "nvme0n10", "nvme2n1",
            "nvme10n1", "sda", "sdaa", "sdb",
        ];
        let mut names = sorted.to_vec();
        names.reverse();
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, sorted);
    }
}
