package rig

// Home is the folder of the server's settings, log and database.
func (p *Prefect) Home() string { return p.home }

// Group is the process group of the server and of all that it starts. It changes with each Start.
func (p *Prefect) Group() int { return p.server.Process.Pid }
