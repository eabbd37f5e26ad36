package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/report"
)

const waitPoll = 500 * time.Millisecond

// newClusterWait is `railguard cluster wait`: it returns when the next node may be taken.
func newClusterWait() *cobra.Command {
	c := &client{}
	var node string
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "wait", Short: "Wait until a node is back and the next one may be taken down", Args: cobra.NoArgs,
		Long: `For whoever restarts, upgrades or replaces all nodes one after the other: it returns
when the node has its vote and all it needs (log, history, list), and every other node too,
so that the cluster survives the next one's absence. Ask a node that stays up.`,
		Example: "  railguard cluster wait --node n2 --patience 10m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" {
				return usage("--node is required (the node that was replaced or restarted)")
			}
			if err := c.settle(cmd, false); err != nil {
				return err
			}
			var last string // What is still missing; "" when nothing is.
			end := time.Now().Add(patience)
			for {
				data, err := c.fetch(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/status"})
				if err != nil {
					last = err.Error()
				} else if last, err = waitsFor(data, node); err != nil {
					return err
				}
				if last == "" {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is back: the next node may be taken\n", node)
					return nil
				}
				if time.Now().After(end) || cmd.Context().Err() != nil {
					return fmt.Errorf("do not take another node down: %s", last)
				}
				time.Sleep(waitPoll)
			}
		},
	}
	c.flags(cmd, false)
	cmd.Flags().StringVar(&node, "node", "", "the node that was replaced or restarted (required)")
	cmd.Flags().DurationVar(&patience, "patience", 10*time.Minute, "how long to wait at most")
	return cmd
}

// waitsFor says what status waits for; "": nothing.
func waitsFor(status []byte, node string) (string, error) {
	var s report.ClusterStatus
	if err := json.Unmarshal(status, &s); err != nil {
		return "", fmt.Errorf("cluster status: %w", err)
	}
	for _, member := range s.Nodes {
		if member.ID != node {
			continue
		}
		if !s.TakeDown.OK {
			return strings.Join(s.TakeDown.Why, "; "), nil
		}
		return "", nil
	}
	return node + " is no member yet", nil
}
