package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTypescriptSharesTheJournal: what a TypeScript program that was killed left, programs in Go and Python end
// rightly, and the other way round. The bytes of the repeated screening call are the same, or its key is refused.
func TestTypescriptSharesTheJournal(t *testing.T) {
	program := typescriptProgram(t, "paying")
	payers["typescript"] = func(_ *testing.T, job string) *exec.Cmd {
		command := exec.Command(program.Path, program.Args[1:]...)
		command.Env = append(os.Environ(), "PAY_JOB="+job)
		return command
	}
	for _, pair := range [][2]string{{"typescript", "go"}, {"typescript", "python"}, {"go", "typescript"}, {"python", "typescript"}} {
		for _, moment := range [][2]string{{"before 2", "sent"}, {"sent", "sent"}, {"before 5", "sent"}, {"before 5", "notSent"}} {
			kill, send := moment[0], moment[1]
			t.Run(fmt.Sprint(pair[0], " ", kill, " ", send, " ", pair[1]), func(t *testing.T) {
				b, url := newBank(t)
				folder := t.TempDir()
				work := payerJob{URL: url, Journal: filepath.Join(folder, "journal"), Rail: filepath.Join(folder, "rail"), IDs: []string{"order-1"}, Send: send, Kill: kill}
				_, died := work.start(t, pair[0])
				require.True(t, died)
				resume := work
				resume.Resume, resume.Kill = true, ""
				told, died := resume.start(t, pair[1])
				require.False(t, died)
				for _, one := range told {
					require.False(t, one.Failed, "%+v", one)
				}
				told, _ = resume.start(t, pair[0])
				require.Empty(t, told, "nothing is open any more")
				b.requireRight(t, &work)
			})
		}
	}
}
