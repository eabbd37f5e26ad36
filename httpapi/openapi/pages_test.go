package openapi

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every page exists, and the explorer loads from this server only.
func TestPages(t *testing.T) {
	served := map[string]string{}
	for _, page := range Files() {
		data, err := page.Read()
		require.NoError(t, err, page.Path)
		require.NotEmpty(t, data, page.Path)
		served[page.Path] = string(data)
	}
	loads := regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	found := loads.FindAllStringSubmatch(served["/docs"], -1)
	require.Greater(t, len(found), 3)
	for _, match := range found {
		if match[1] != "/docs/errors" && match[1] != "data:," { // Another room serves the error codes.
			require.Contains(t, served, match[1])
		}
	}
	require.NotRegexp(t, `<script>|<style|style=|onload=`, served["/docs"], "the policy allows nothing inline")
	require.NotContains(t, served["/docs/explorer.js"], "http")
	require.Contains(t, served["/docs/swagger-ui-bundle.js"], "SwaggerUIBundle")
}

// The feed is a JSON Feed with the newest change first and no id twice.
func TestFeed(t *testing.T) {
	data, err := files.ReadFile("changes.json")
	require.NoError(t, err)
	var feed struct {
		Version, Title string
		Items          []struct {
			ID, Title string
			Text      string    `json:"content_text"`
			At        time.Time `json:"date_published"`
			Tags      []string
		}
	}
	require.NoError(t, json.Unmarshal(data, &feed))
	require.Equal(t, "https://jsonfeed.org/version/1.1", feed.Version)
	require.NotEmpty(t, feed.Items)
	ids := map[string]bool{}
	for i, item := range feed.Items {
		require.False(t, ids[item.ID], item.ID)
		ids[item.ID] = true
		require.NotEmpty(t, item.Title)
		require.NotEmpty(t, item.Text)
		require.Subset(t, []string{"added", "changed", "deprecated", "removed"}, item.Tags, item.ID)
		if i > 0 {
			require.False(t, item.At.After(feed.Items[i-1].At), "%s: the newest first", item.ID)
		}
	}
}
