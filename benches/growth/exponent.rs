//! How a cost grows: the exponent e of cost ~ size^e. Pure.

/// The slope of the logarithms by least squares; None where it is not defined: fewer than two sizes, or a cost that is not positive.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let all_positive = points.iter().all(|(size, cost)| *size > 0.0 && *cost > 0.0);
    if !all_positive {
        return None;
    }
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|(size, cost)| (size.ln(), cost.ln()))
        .collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (mean_size, mean_cost) = (mean(|log| log.0), mean(|log| log.1));
    let about = |log: &(f64, f64)| (log.0 - mean_size, log.1 - mean_cost);
    let squares: f64 = logs.iter().map(|log| about(log).0.powi(2)).sum();
    let products: f64 = logs.iter().map(|log| about(log).0 * about(log).1).sum();
    (squares > 0.0).then(|| products / squares)
}

/// The middle value; of an even number the lower of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}
