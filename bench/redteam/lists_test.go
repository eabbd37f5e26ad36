package redteam

// publisher is a mirror of the lists that has become hostile.
type publisher struct{}
