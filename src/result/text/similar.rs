//! Names that a misspelled one may mean.

/// The names that are most like `name`, at most three.
pub fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    // Up to a third of the letters may differ.
    let limit = (name.chars().count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|other| (strsim::osa_distance(name, other), other))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    let best = near.first().map_or(0, |(distance, _)| *distance);
    near.retain(|(distance, _)| *distance <= best + 1);
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}
