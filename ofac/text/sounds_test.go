package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A name and its romanised Katakana have the same sounds.
func TestSoundsThatKanaKeep(t *testing.T) {
	sounds := func(word string) string { return string(AppendSounds(nil, []byte(word))) }
	for kana, latin := range map[string]string{
		"ヴラディミル": "vladimir", "ウラジーミル": "vladimir", "ブラジミール": "vladimir", "ドミトリー": "dmitry", "アッバス": "abbas", "アブドゥッラー": "abdullah", "ムハンマド": "muhammad", "ハッサン": "hassan", "フセイン": "hussein",
		"ファティマ": "fatima", "シャキール": "shakil", "サンチェス": "sanchez", "チャベス": "chavez", "ロペス": "lopes", "ルイス": "luis", "スミス": "smith", "マイケル": "maikel", "ウィリアム": "william",
		"ハリド": "khalid", "フィリップ": "phillip", "ツポレフ": "tupolef", "ジョセフ": "joseph", "カルロス": "carlos", "アレクセイ": "aleksei", "キム": "kim", "カンポス": "campos", "ウマル": "umar",
	} {
		words, ok := AppendKana(nil, kana)
		require.True(t, ok, kana)
		heard := []byte(sounds(latin))
		same := string(heard) == sounds(string(words)) || OtherSounds(heard) && string(heard) == sounds(string(words))
		require.True(t, same, "%s: %s is %s, %s is %s", kana, words, sounds(string(words)), latin, sounds(latin))
	}
	for _, pair := range [][2]string{{"hasan", "hakan"}, {"maria", "mario"}, {"ali", "umar"}, {"carlos", "marlos"}} {
		require.NotEqual(t, sounds(pair[0]), sounds(pair[1]), "%v", pair)
	}
	require.False(t, OtherSounds([]byte("abs")))
	require.False(t, OtherSounds(nil))
	require.Empty(t, sounds(""))
	require.Empty(t, sounds("h"))
}
