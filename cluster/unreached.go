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
// One answer ends no node that serves: a node of the old group that comes back alone hears of the
// restore and ends by itself. Who still answers after that has a majority behind it. It holds what
// was acknowledged since the backup, so this node ends, and its next start refuses as the first one
// would have.

const (
	unreachedAskedEvery = 5 * time.Second
	unreachedAskedFor   = 7 * 24 * time.Hour
	// unreachedYields is how long a node of the old group may answer that will end of what it heard.
	unreachedYields = 2 * yieldAfter
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
	answered := map[string]time.Time{} // When a member first answered as the old group.
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
		for _, m := range unreached {
			delete(answered, m.Addr)
		}
		var living []string
		for _, one := range alive {
			unreached = append(unreached, one.member)
			if answered[one.member.Addr].IsZero() {
				answered[one.member.Addr] = time.Now()
			} else if time.Since(answered[one.member.Addr]) >= unreachedYields {
				living = append(living, one.String())
			}
		}
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

func stillServes(living []string) string {
	return fmt.Sprintf("the group that this folder's backup is of still serves: %s. They could not be reached when this restored node started, and what they decided since is not in this folder. It does not start again while they answer. Stop them (and wipe them, to join anew), or give the restore up",
		strings.Join(living, ", "))
}
