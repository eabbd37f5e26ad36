package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"railguard/cluster/datadir"
)

// The first start on a restored folder asks the members of the group that the backup is of, and
// goes no further while one of them answers (decision 117). Who could not be reached then may live
// all the same, behind a broken link, with a majority. So the node asks these again, beside its
// service and at each start, until each has answered once as one that does no harm, or for a week.
//
// A node that serves ends only if the one that answers has a majority behind it: that group holds
// what was acknowledged since the backup. Then the next start refuses as the first one would have.
// A node of the old group that comes back alone is warned of. None of them is told anything by which
// it would end.

const (
	unreachedAskedEvery = 5 * time.Second
	unreachedAskedFor   = 7 * 24 * time.Hour
)

// restoredWithout returns whom this node asks since its folder was restored.
func (g *greeter) restoredWithout() (members []datadir.Member) {
	who := g.folder.Identity()
	switch {
	case who.Restored != nil:
		members = slices.Clone(who.Restored.Former)
		for _, host := range g.join {
			members = append(members, datadir.Member{Addr: host})
		}
	case who.Unreached != nil && !who.Unreached.IsOlder(unreachedAskedFor, g.wallTime()):
		members = slices.Clone(who.Unreached.Members)
	}
	asked := map[string]bool{g.address.Host: true}
	return slices.DeleteFunc(members, func(m datadir.Member) bool {
		twice := asked[m.Addr]
		asked[m.Addr] = true
		return twice
	})
}

// askUnreached is a goroutine. It ends when nobody is left to ask.
func (g *greeter) askUnreached() {
	g.log.Warn("members of the group that this folder's backup is of could not be reached: they are asked again", "members", g.unreached)
	ticker := time.NewTicker(unreachedAskedEvery)
	defer ticker.Stop()
	for {
		left := g.restoredWithout()
		if len(left) == 0 {
			g.keepUnreached(nil)
			return
		}
		select {
		case <-g.life.stop:
			return
		case <-ticker.C:
		}
		alive, unreached := g.askFormer(left)
		for _, one := range alive {
			g.lineage.tellStranger(fmt.Sprintf("node %q at %s is of the group that this folder's backup is of, and has not been restored", one.id, one.member.Addr))
		}
		living, unreached := onlyLiving(alive, unreached)
		if len(living) > 0 {
			g.life.endProcess(stillServes(living))
			return
		}
		if len(unreached) < len(left) {
			g.keepUnreached(unreached)
		}
	}
}

func (g *greeter) keepUnreached(members []datadir.Member) {
	if err := g.folder.NoteUnreached(members, g.wallTime()); err != nil {
		g.life.endProcess("disk failed: " + err.Error())
	}
}

func stillServes(living []oldNode) string {
	var names []string
	for _, one := range living {
		names = append(names, one.String())
	}
	slices.Sort(names)
	return fmt.Sprintf("the group that this folder's backup is of still serves: %s. They could not be reached when this restored node started, and what they decided since is not in this folder. It does not start again while they serve. Stop them (and wipe them, to join anew), or give the restore up",
		strings.Join(names, ", "))
}
