package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// certify gives every node of a development cluster with --tls a certificate of the
// cluster's own authority; on later runs, a new one for the same key.
func (c *devCluster) certify(now time.Time) error {
	if !c.flags.tls {
		return nil
	}
	dir := c.authority()
	if _, err := os.Stat(filepath.Join(dir, authorityFile)); errors.Is(err, os.ErrNotExist) {
		if _, err := makeAuthority(dir, "railguard dev", authorityDays, now); err != nil {
			return err
		}
	}
	for i := range c.file.Nodes {
		f := issueFlags{dir: dir, id: c.file.Nodes[i].ID, days: certificateDays}
		_, err := os.Stat(filepath.Join(dir, f.id+".pem"))
		f.renew = err == nil
		if _, err := f.issue(now); err != nil {
			return err
		}
	}
	return nil
}

func (c *devCluster) authority() string { return filepath.Join(c.flags.data, "tls") }

// certificates are the flags by which a node shows its own.
func (c *devCluster) certificates(node *devNode) []string {
	if !c.flags.tls {
		return nil
	}
	path := filepath.Join(c.authority(), node.ID)
	return []string{"--cluster-cert", path + ".pem", "--cluster-key", path + ".key", "--cluster-ca", filepath.Join(c.authority(), authorityFile)}
}
