//! Options of a program among the words of a command line, by the rules of getopt_long. Pure.

use std::path::Path;

/// The words after the program's name: those before it belong to what starts it, such as nice.
pub fn after_program<'a>(words: &'a [String], name: &str) -> &'a [String] {
    let is_it = |word: &String| Path::new(word).file_name().is_some_and(|file| file == name);
    let at = words.iter().position(is_it);
    at.map_or(&[], |at| &words[at + 1..])
}

/// The value of the last `--NAME=VALUE` or `--NAME VALUE`; empty for an option without a value. `name` has its hyphens.
pub fn long<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let mut found = arguments.iter().enumerate().filter_map(|(at, argument)| {
        let rest = argument.strip_prefix(name)?;
        if rest.is_empty() {
            let next = arguments.get(at + 1).map_or("", String::as_str);
            return Some(if next.starts_with('-') { "" } else { next });
        }
        rest.strip_prefix('=')
    });
    found.next_back()
}

/// The value of the last `-X VALUE`, `-XVALUE` or `-abX VALUE`; empty for an option without a value. `with_value`: the
/// letters of all options that have one.
pub fn short<'a>(arguments: &'a [String], letter: char, with_value: &str) -> Option<&'a str> {
    all_short(arguments, letter, with_value).pop()
}

/// The values of all of them.
pub fn all_short<'a>(arguments: &'a [String], letter: char, with_value: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        let cluster = word.strip_prefix('-').unwrap_or_default();
        if cluster.starts_with(['-', '+']) {
            continue;
        }
        for (at, option) in cluster.char_indices() {
            let has_value = with_value.contains(option);
            let value = match &cluster[at + option.len_utf8()..] {
                _ if !has_value => "",
                "" => words.next().map_or("", String::as_str),
                rest => rest,
            };
            if option == letter {
                found.push(value);
            }
            if has_value {
                break;
            }
        }
    }
    found
}

/// Whether a number, perhaps with a unit, is there and not zero.
pub fn is_above_zero(value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse::<f64>().is_ok_and(|number| number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_of_what_starts_it_are_not_its_own() {
        let words = words("nice -n 5 /usr/bin/ioping -c 3 .");
        assert_eq!(after_program(&words, "ioping"), ["-c", "3", "."]);
        assert_eq!(after_program(&words, "dd"), [""; 0]);
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        let line = words("-qT5 -c 4 --time=7 --log --rate 3 -vT 9 name -- -T 1");
        assert_eq!(short(&line, 'T', "Tc"), Some("9"));
        assert_eq!(short(&line, 'q', "Tc"), Some(""));
        assert_eq!(short(&line, 'c', "Tc"), Some("4"));
        assert_eq!(short(&line, 'l', "Tc"), None);
        assert_eq!(long(&line, "--time"), Some("7"));
        assert_eq!(long(&line, "--log"), Some(""));
        assert_eq!(long(&line, "--rate"), Some("3"));
        assert_eq!(long(&line, "--tim"), None);
        // The value of another option is no option.
        assert_eq!(short(&words("-f -T5"), 'T', "fT"), None);
        assert_eq!(all_short(&words("-i0 -ai 2 -+i 5 x"), 'i', "i"), ["0", "2"]);
    }

    #[test]
    fn zero_is_no_limit() {
        for (value, expected) in [
            ("5", true),
            ("0.5s", true),
            ("0", false),
            ("0s", false),
            ("", false),
            ("x", false),
        ] {
            assert_eq!(is_above_zero(value), expected, "{value}");
        }
    }
}
