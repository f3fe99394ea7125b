module walk_samples

go 1.18
