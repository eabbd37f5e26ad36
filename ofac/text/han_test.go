package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/match"
	"railguard/ofac/text"
)

// Names in Han characters are read in pinyin: a person's family name first, a company with its
// known words translated. Both forms of a character are read alike.
func TestHanIsReadAloud(t *testing.T) {
	for name, want := range map[string]string{
		"王小林": "wang xiaolin", "王 小林": "wang xiaolin", "习近平": "xi jinping", "習近平": "xi jinping", "王, 小林": "wang xiaolin", "王小林先生": "wang xiaolin", "王小林 (WANG)": "wang xiaolin wang",
		"欧阳娜娜": "ouyang nana", "歐陽 娜娜": "ouyang nana", "尉迟恭": "yuchi gong", "司马": "si ma", "林鄭月娥": "lin zhengyuee", "林鄭, 月娥": "lin zhengyuee", "乾隆": "qian long", "吕布": "lu bu",
		"曾单": "zeng dan", "单雄信": "shan xiongxin", "解曾": "xie ceng", "仇英": "qiu ying", "查良镛": "zha liangyong", "翟天临": "zhai tianlin", "盖聂": "ge nie", "区伯": "ou bo", "任正非": "ren zhengfei", "朴永进": "piao yongjin",
		"大连永康国际贸易有限公司": "dalian yongkang international trading co ltd", "大連永康國際貿易有限公司": "dalian yongkang international trading co ltd", "亚泰国际控股集团有限公司": "yatai international holding group co ltd",
		"深圳市 ABC 科技有限公司": "shenzhen abc technology co ltd", "宝港 东营东港 物流有限公司": "baogang dongying donggang logistics co ltd", "三明市中欧进出口公司": "sanming zhongou import and export company",
		"中国银行": "china bank", "香港": "hong kong", "北京市": "", "王": "", "": "", "Wang Xiaolin": "", "房租 四月": "fang zusiyue", "小林 王": "wang xiaolin", "晓 林 王": "xiao linwang", "娜娜 欧阳": "ouyang nana", "欧阳 小 林": "ouyang xiaolin", "王小 林": "lin wangxiao", "付款给王小林": "", "弗拉基米尔·普京": "", "ウラジミル": "", "金正은": "", "\u202bمحمد": "",
	} {
		spoken, _, ok := text.SpeakHan(name)
		require.Equal(t, want, spoken, name)
		require.Equal(t, want != "", ok, name)
	}
}

// The words that companies have are written as the fold leaves them.
func TestCompanyWordsAreFolded(t *testing.T) {
	for word := range text.CompanyWords {
		require.Equal(t, word, text.NormaliseName(word))
	}
}

// A name in Han characters is found in any form of them, and through its reading. The reading never
// blocks, and neither do three characters without a blank.
func TestHanIsFound(t *testing.T) {
	compiled, err := match.Build(append(listtest.NumberedEntities(400),
		listtest.Named(1, list.Individual, list.ListSDN, "張, 國強"), listtest.Named(2, list.Individual, list.ListSDN, "WANG, Xiaolin"),
		listtest.Named(3, list.Individual, list.ListSDN, "TENG, Hsiao-p'ing"), listtest.Named(4, list.Company, list.ListSDN, "DALIAN YONGKANG TRADING CO., LTD."),
		listtest.Named(5, list.Individual, list.ListSDN, "沢井, 恵"), listtest.Named(6, list.Company, list.ListSDN, "大連遠洋貿易有限公司"), listtest.Named(7, list.Individual, list.ListSDN, "LI, Xiao Ping"), listtest.Named(8, list.Individual, list.ListSDN, "林鄭, 月娥"),
	), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	scratch := match.NewScratch()
	for name, want := range map[string]struct {
		uid     uint32
		outcome match.Outcome
	}{
		"张国强": {1, match.Possible}, "張 國強": {1, match.Listed}, "张 國强": {1, match.Listed}, "国强 张": {1, match.Listed}, "国强张": {1, match.Possible}, "Zhang Guoqiang": {1, match.Clear}, "章国强": {1, match.Clear},
		"王小林": {2, match.Possible}, "王曉琳": {2, match.Possible}, "王晓东": {2, match.Clear}, "王小令": {2, match.Clear}, "王小丽": {2, match.Clear}, "邓小平": {3, match.Possible}, "鄧小平": {3, match.Possible}, "李小平": {7, match.Possible},
		"大连永康贸易有限公司": {4, match.Possible}, "大連永康貿易公司": {4, match.Possible}, "大连永康市": {4, match.Clear}, "澤井 恵": {5, match.Listed}, "泽井惠": {5, match.Possible}, "林郑月娥": {8, match.Listed}, "林郑, 月娥": {8, match.Listed}, "月娥林郑": {8, match.Possible},
		"大连远洋贸易有限公司": {6, match.Listed},
	} {
		found, _ := compiled.ScreenEntry(want.uid, &match.Query{Name: name}, scratch)
		require.Equal(t, want.outcome.String(), found.Outcome.String(), name)
	}
}

// Foreign names in Katakana are found by their sounds, and never block.
func TestForeignNamesInKanaAreFound(t *testing.T) {
	compiled, err := match.Build(append(listtest.NumberedEntities(400),
		listtest.Named(1, list.Individual, list.ListSDN, "PUTIN, Vladimir"), listtest.Named(2, list.Individual, list.ListSDN, "SANCHEZ LOPEZ, Carlos"),
		listtest.Named(3, list.Individual, list.ListSDN, "AL-BAGHDADI, Abu Bakr"), listtest.Named(4, list.Company, list.ListSDN, "GLENKORN"),
	), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	scratch := match.NewScratch()
	for name, want := range map[string]struct {
		uid     uint32
		outcome match.Outcome
	}{
		"ウラジーミル・プーチン": {1, match.Possible}, "ブラジミル・プチン": {1, match.Possible}, "プーチン・ウラジミール": {1, match.Possible}, "ウラジーミル・プチャコフ": {1, match.Clear},
		"カルロス・サンチェス・ロペス": {2, match.Possible}, "アブー・バクル・アル・バグダーディー": {3, match.Possible}, "グレンコルン": {4, match.Possible},
	} {
		found, _ := compiled.ScreenEntry(want.uid, &match.Query{Name: name}, scratch)
		require.Equal(t, want.outcome.String(), found.Outcome.String(), name)
	}
}

// An explanation of a name in Han characters shows the words that were read.
func TestHanIsExplained(t *testing.T) {
	compiled, err := match.Build(append(listtest.NumberedEntities(400), listtest.Named(1, list.Company, list.ListSDN, "DALIAN YONGKANG TRADING CO., LTD."), listtest.Named(2, list.Individual, list.ListSDN, "OUYANG, Xiaolin")), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	scratch := match.NewScratch()
	why, ok := compiled.Explain(1, &match.Query{Name: "大连永康贸易有限公司"}, scratch)
	require.True(t, ok)
	require.False(t, why.FormsAside)
	_, ok = compiled.Explain(2, &match.Query{Name: "欧阳晓林 Petrov"}, scratch)
	require.True(t, ok)
	require.True(t, ok)
}

// The list is compiled without its names in Han characters, and each of these is asked: how many
// lead to the entry by its Latin names alone. Those that do not are Japanese, Cantonese and
// translated names.
func TestHanNamesByTheirReading(t *testing.T) {
	entities := listtest.RealEntities(t, "2025-11-19")
	type question struct {
		uid    uint32
		name   string
		person bool
	}
	var asked []question
	for i := range entities {
		e := &entities[i]
		var kept []list.Name
		for _, name := range e.Names {
			if _, _, ok := text.SpeakHan(name.Full); !ok && !text.HasLossy(name.Full) {
				kept = append(kept, name)
			} else if !name.Weak {
				asked = append(asked, question{e.UID, name.Full, e.Type == list.Individual})
			}
		}
		e.Names = kept
	}
	compiled, err := match.Build(entities, list.Meta{Source: "test"})
	require.NoError(t, err)
	scratch := match.NewScratch()
	count, found := map[bool]int{}, map[bool]int{}
	for _, q := range asked {
		if !text.MayHaveHan(q.name) {
			continue
		}
		count[q.person]++
		result, _ := compiled.ScreenEntry(q.uid, &match.Query{Name: q.name}, scratch)
		require.NotEqual(t, match.Listed, result.Outcome, q.name)
		if result.Outcome >= match.Possible {
			found[q.person]++
		}
	}
	require.Greater(t, found[true]*100, count[true]*84)
	require.Greater(t, found[false]*100, count[false]*55)
	t.Logf("persons %d of %d, others %d of %d", found[true], count[true], found[false], count[false])
}
