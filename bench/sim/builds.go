package sim

import (
	"context"
	"fmt"
	"time"

	"railguard/fsm/wire"
	"railguard/ofac"
)

// Two builds of the product: the older one knows the first version of the matcher, and the newer one
// the next version as well. In every second schedule the nodes begin with the older one and are
// upgraded one by one; when all are, the next version comes in force.

var (
	olderBuild = ofac.Matchers{1}
	newerBuild = ofac.Matchers{1, 2}
)

const newerMatcher = 2

// mixBuilds gives every host the older build.
func (w *World) mixBuilds() {
	for _, host := range w.hosts {
		host.build = olderBuild
	}
}

// upgrade stops a node of the older build and starts it with the newer one. When there is none, the
// next version of the matcher is put in force, as soon as the group says that it can be.
func (w *World) upgrade() {
	for _, host := range w.hosts {
		if len(host.build) != len(olderBuild) {
			continue
		}
		host.Stop()
		w.pause(300)
		host.build = newerBuild
		if host.Node() == nil {
			host.Start()
		}
		w.count("nodes upgraded", 1)
		return
	}
	node := w.leading().Node()
	if node == nil || len(w.hosts[0].build) == 0 || node.Settings().Matcher == newerMatcher {
		return
	}
	for range 20 {
		if node.MatcherReady(newerMatcher) == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			result, err := node.Propose(ctx, wire.KindMatcher, wire.Encode(&wire.Matcher{
				Common: wire.Common{Fragment: []byte(`"actor":"sim"`)}, To: newerMatcher,
			}))
			cancel()
			if err == nil && result.Code == wire.Applied {
				w.count("matcher raised", 1)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// requireOneMatcher reports nodes that judge by another version than the one in force, or that do not
// know it.
func (w *World) requireOneMatcher() (found problems) {
	for _, host := range w.hosts {
		node := host.Node()
		force := node.Settings().Matcher
		if list := node.List(); list != nil && list.Matcher() != force {
			found.add("%s judges with matcher %d, and %d is in force", host.ID, list.Matcher(), force)
		}
		if first := w.hosts[0].Node().Settings().Matcher; first != force {
			found.add("matcher %d is in force on %s, and %d on %s", force, host.ID, first, w.hosts[0].ID)
		}
		if len(host.build) > 0 && !carries(host.build, force) {
			found.add("matcher %d is in force, and %s carries %s", force, host.ID, fmt.Sprint(host.build))
		}
	}
	return found
}

func carries(build ofac.Matchers, version uint16) bool {
	for _, known := range build {
		if known == version {
			return true
		}
	}
	return false
}
