package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A name and its romanised Katakana have the same sounds.
func TestSoundsThatKanaKeep(t *testing.T) {
	sounds := func(word string) string { return string(AppendSounds(nil, []byte(word))) }
	for kana, latin := range map[string]string{
		"ヴラディミル": "vladimir", "ブラジミール": "vladimir", "ドミトリー": "dmitry", "アッバス": "abbas", "アブドゥッラー": "abdullah", "ムハンマド": "muhammad", "ハッサン": "hassan", "フセイン": "hussein",
		"ファティマ": "fatima", "シャキール": "shakil", "サンチェス": "sanchez", "チャベス": "chavez", "ロペス": "lopes", "ルイス": "luis", "スミス": "smith", "マイケル": "maikel", "ウィリアム": "william",
		"ハリド": "khalid", "フィリップ": "phillip", "ツポレフ": "tupolef", "ジョセフ": "joseph", "カルロス": "carlos", "アレクセイ": "aleksei", "キム": "kim", "カンポス": "campos", "ウマル": "umar",
	} {
		words, ok := AppendKana(nil, kana)
		require.True(t, ok, kana)
		require.True(t, SameSounds([]byte(sounds(latin)), []byte(sounds(string(words)))), "%s: %s is %s, %s is %s", kana, words, sounds(string(words)), latin, sounds(latin))
	}
	for _, pair := range [][2]string{{"hasan", "hakan"}, {"maria", "mario"}, {"ali", "umar"}, {"carlos", "marlos"}} {
		require.NotEqual(t, sounds(pair[0]), sounds(pair[1]), "%v", pair)
	}
	require.False(t, SameSounds([]byte("abs"), []byte("abz")))
	require.False(t, SameSounds(nil, nil))
	require.Empty(t, sounds(""))
	require.Empty(t, sounds("h"))
}
