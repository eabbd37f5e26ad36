package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyllableKeys(t *testing.T) {
	key := func(word string, table *syllableTable) string {
		key, _ := AppendSyllables(nil, []byte(word), table)
		return string(key)
	}
	for pinyin, wade := range map[string]string{
		"zedong": "tsetung", "xiaoping": "hsiaoping", "jintao": "chintao", "zhou": "chou", "deng": "teng", "guo": "kuo", "qing": "ching",
		"rong": "jung", "xuan": "hsuan", "yue": "yueh", "zi": "tzu", "shi": "shih", "gui": "kuei", "luo": "lo", "nv": "nu",
	} {
		require.NotEmpty(t, key(pinyin, syllables.pinyin), pinyin)
		require.Equal(t, key(pinyin, syllables.pinyin), key(wade, syllables.wade), pinyin)
	}
	for _, pair := range [][2]string{{"jeongeun", "jongun"}, {"gyeonghui", "kyonghui"}, {"cheolsu", "cholsu"}, {"myeongguk", "myongguk"}} {
		require.NotEmpty(t, key(pair[0], syllables.korean), pair[0])
		require.Equal(t, key(pair[0], syllables.korean), key(pair[1], syllables.korean), "%v", pair)
	}
	for _, word := range []string{"smith", "vladimir", "x", ""} {
		require.Empty(t, key(word, syllables.pinyin), word)
		require.Empty(t, key(word, syllables.korean), word)
	}
}
