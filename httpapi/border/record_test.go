package border

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCSVCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "a=b": "a=b", "'x": "'x",
	} {
		require.Equal(t, want, CSVCell(text))
	}
}
