package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	stallLasts   = 8 * time.Second
	stallGapGoal = 3 * time.Second // The promised time. It is reported and not demanded.
	imageBytes   = 256 << 20
)

// imageDisk mounts a file system that lives in a file and can be frozen: writes to
// it wait, as on a disk that hangs.
func imageDisk(folder string) ([]byte, error) {
	image := folder + ".image"
	file, err := os.OpenFile(image, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = file.Truncate(imageBytes)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		return out, err
	}
	if out, err := exec.Command("mount", "-o", "loop", image, folder).CombinedOutput(); err != nil {
		return out, err
	}
	return nil, os.Chmod(folder, 0o700)
}

// stalledDisk is the other half of C11: the leader's disk hangs for some seconds. Another node
// leads, and no process ends. When the disk works again, the former leader takes part again.
func stalledDisk(ctx context.Context, s *stage) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	hit := s.cluster.followers(leader)[0]
	release, err := s.ownDisk(ctx, hit, imageDisk)
	if err != nil {
		return err
	}
	defer release()
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	if err := s.lead(ctx, hit); err != nil {
		return err
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil {
		return err
	}
	began := s.history.now()
	thaw, err := freeze(hit.Data)
	if err != nil {
		return err
	}
	defer thaw()
	if err := s.verdictAfter(ctx, began+stallLasts/4); err != nil {
		return fmt.Errorf("the others do not go on: %w", err)
	}
	pause(ctx, stallLasts-(s.history.now()-began))
	thaw()
	gap := s.history.gap(began, s.history.now())
	s.sample(fmt.Sprintf("gap while the leader's disk hung for %v (promised: under %v)", stallLasts, stallGapGoal), gap)
	if !hit.Running() {
		return fmt.Errorf("it ended, though only its disk was slow\n%s", hit.LogTail())
	}
	if err := hit.ready(ctx, readyPatience); err != nil {
		return fmt.Errorf("with its disk back: %w\n%s", err, hit.LogTail())
	}
	storm.stop()
	return s.inspectEarly(ctx)
}

// freeze stops all writes to a mounted file system until thaw is called. A helper process thaws
// it when a pipe from this process closes. So it is thawed even if this process dies; otherwise
// nothing could end a process that waits for the frozen disk.
func freeze(folder string) (thaw func(), err error) {
	helper := exec.Command("sh", "-c", `read -r _; exec fsfreeze -u "$0"`, folder)
	pipe, err := helper.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := helper.Start(); err != nil {
		return nil, err
	}
	thaw = sync.OnceFunc(func() {
		_ = pipe.Close()
		_ = helper.Wait() // It fails if nothing was frozen.
	})
	if out, err := exec.Command("fsfreeze", "-f", folder).CombinedOutput(); err != nil {
		thaw()
		return nil, skipped(fmt.Sprintf("a file system cannot be frozen here: %v %s", err, out))
	}
	return thaw, nil
}
