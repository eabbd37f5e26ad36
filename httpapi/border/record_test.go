package border

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCSVCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "a=b": "a=b", "'x": "'x",
		"＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x", "\n=1": "'\n=1",
	} {
		require.Equal(t, want, CSVCell(text))
	}
}
