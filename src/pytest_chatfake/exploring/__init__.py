"""One test body in every world: what may come in another order, tried and told."""
