package clients

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// payJob is what client/typescript/payer.ts is told to do.
type payJob struct {
	Do      string   `json:"do"`
	URLs    []string `json:"urls"`
	Key     string   `json:"key"`
	Settler string   `json:"settler"`
	Token   string   `json:"token"`
	Folder  string   `json:"folder"`
	ID      string   `json:"id"`
	Rail    string   `json:"rail"`
	Kill    string   `json:"kill"`
	Kills   int      `json:"kills"`
}

// resumed is what the program says that became of a payment.
type resumed struct {
	ID, TxnID, State, Step, Error string
	Died                          bool
	Sent                          []string
	Others                        int
}

// killings are the moments at which a program is killed, with the state that its payment has once another
// program has resumed the journal.
var killings = []struct{ rail, kill, state string }{
	{"sent", "before screen", ""},
	{"sent", "after screen", "released"},
	{"sent", "before verdict", "released"},
	{"sent", "after verdict", "released"},
	{"sent", "before send", "released"},
	{"sent", "after send", "released"},
	{"sent", "before sent", "settled"},
	{"less", "after sent", "settled"},
	{"sent", "before end", "settled"},
	{"sent", "after end", ""},
	{"notSent", "before notSent", "released"},
	{"notSent", "after notSent", "released"},
	{"notSent", "before end", "released"},
	{"lost", "", "settled"},
	{"never", "", "released"},
}

const randomKills = 200

// TestPayJournal kills a program that pays before and after each line of its journal, and 200 times more at
// drawn moments. Another one resumes the journal. Then every payment is what the rail says, and counts so.
func TestPayJournal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	program := typescriptProgram(t, "payer")
	servers := startCluster(t, 1)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays"})
	require.NoError(t, err)
	job := payJob{URLs: servers.URLs(), Key: servers.Key, Settler: servers.settlerKey(t), Token: agent.Token}
	start := func() *exec.Cmd { return exec.Command(program.Path, program.Args[1:]...) }
	var spent client.USD
	for _, one := range killings {
		t.Run(one.rail+" "+one.kill, func(t *testing.T) {
			mine := job
			mine.Folder, mine.ID, mine.Rail, mine.Kill, mine.Do = t.TempDir(), client.NewKey(), one.rail, one.kill, "pay"
			err := run(t.Context(), start(), mine, new(any))
			var killed *exec.ExitError
			require.Equal(t, one.kill != "", errors.As(err, &killed), "%v", err)
			mine.Do = "resume"
			var outcomes []resumed
			require.NoError(t, run(t.Context(), start(), mine, &outcomes))
			if one.state == "" {
				require.Empty(t, outcomes)
			} else {
				require.Len(t, outcomes, 1)
				require.Equal(t, []string{one.state, ""}, []string{outcomes[0].State, outcomes[0].Error})
				requireEnding(t, rail, outcomes[0].TxnID, one.state)
			}
			spent += requireSentOnce(t, mine.Folder, mine.ID)
			require.NoError(t, run(t.Context(), start(), mine, &outcomes))
			require.Empty(t, outcomes, "all has ended")
		})
	}
	t.Run("random", func(t *testing.T) {
		job.Do, job.Folder, job.Kills = "random", t.TempDir(), randomKills
		var rows []resumed
		require.NoError(t, run(t.Context(), start(), job, &rows))
		require.Len(t, rows, randomKills)
		died := 0
		for i := range rows {
			row := &rows[i]
			require.Empty(t, row.Error, row.ID)
			require.Zero(t, row.Others, "the journal has what ended before")
			require.LessOrEqual(t, len(row.Sent), 1, "sent twice")
			if row.Died {
				died++
			}
			switch {
			case len(row.Sent) == 1:
				require.Equal(t, "settled", row.State, row.ID)
			case row.TxnID != "":
				require.Equal(t, "released", row.State, row.ID)
			default:
				require.Equal(t, "never begun", row.State, row.ID)
				continue
			}
			requireEnding(t, rail, row.TxnID, row.State)
			spent += requireSentOnce(t, job.Folder, row.ID)
		}
		require.Greater(t, died, randomKills/2)
	})
	limits := new(client.Limits)
	require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/agents/"+agent.AgentID+"/limits?consistency=leader", nil, "", limits))
	require.Equal(t, []client.USD{spent, 0}, []client.USD{limits.SpentUSDC, limits.HeldUSDC}, "what was sent counts, and nothing else")
}

// requireEnding checks what the service says became of a payment.
func requireEnding(t *testing.T, rail *client.Client, txnID, state string) {
	record := new(client.Record)
	require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/audit/"+txnID, nil, "", record))
	require.NotNil(t, record.Payment, txnID)
	require.Equal(t, state, record.Payment.State, txnID)
}

// requireSentOnce returns what the rail sent for a payment.
func requireSentOnce(t *testing.T, folder, id string) (amount client.USD) {
	raw, err := os.ReadFile(filepath.Join(folder, "rail"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	times := 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		if text, mine := strings.CutPrefix(line, id+" "); mine {
			times++
			amount, err = client.ParseUSD(text)
			require.NoError(t, err)
		}
	}
	require.LessOrEqual(t, times, 1, "sent twice")
	return amount
}
