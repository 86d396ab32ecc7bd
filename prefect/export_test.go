package prefect

// Few sets for how many known ends a poller reads a stretch of time rather than counts it.
func (p *Poller) Few(n int) *Poller {
	p.census.few = n
	return p
}
