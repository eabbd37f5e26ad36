package families

import (
	"strings"

	"railguard/ofac"
)

// hanWords are the words of companies, and places, as a translator writes them.
var hanWords = map[string]string{
	"trading": "贸易", "trade": "贸易", "commerce": "商贸", "technology": "科技", "technologies": "科技", "tech": "科技", "science": "科学", "information": "信息", "electronics": "电子", "electronic": "电子", "electric": "电气", "optoelectronics": "光电", "semiconductor": "半导体", "communication": "通信",
	"industry": "实业", "industrial": "工业", "industries": "工业", "machinery": "机械", "equipment": "设备", "machine": "机械", "tool": "工具", "material": "材料", "materials": "材料", "metal": "金属", "chemical": "化工", "petrochemical": "石化", "petroleum": "石油", "oil": "石油", "energy": "能源", "mining": "矿业", "engineering": "工程", "construction": "建设", "carbon": "碳素",
	"shipping": "航运", "marine": "海运", "ship": "船舶", "logistics": "物流", "freight": "货运", "agency": "代理", "transportation": "运输", "port": "港务", "terminal": "码头", "aviation": "航空", "aerospace": "航天", "fishing": "渔业", "fishery": "渔业", "ocean": "远洋",
	"pharmaceutical": "制药", "biotechnology": "生物科技", "medical": "医疗", "food": "食品", "management": "管理", "services": "服务", "service": "服务", "development": "发展", "investment": "投资", "holding": "控股", "holdings": "控股", "bank": "银行", "international": "国际", "global": "环球", "general": "通用", "united": "联合", "new": "新", "group": "集团", "import": "进口", "export": "出口", "environmental": "环保", "network": "网络", "university": "大学", "institute": "研究所",
	"china": "中国", "beijing": "北京", "shanghai": "上海", "shenzhen": "深圳", "guangzhou": "广州", "dalian": "大连", "tianjin": "天津", "qingdao": "青岛", "shandong": "山东", "hebei": "河北", "henan": "河南", "hubei": "湖北", "hunan": "湖南", "wuhan": "武汉", "nanjing": "南京", "suzhou": "苏州", "wuxi": "无锡", "zhejiang": "浙江", "hangzhou": "杭州", "ningbo": "宁波", "jiangsu": "江苏", "fujian": "福建", "xiamen": "厦门", "guangdong": "广东", "dongguan": "东莞", "zhuhai": "珠海", "liaoning": "辽宁", "chengdu": "成都", "chongqing": "重庆", "xinjiang": "新疆", "jiangxi": "江西", "hongkong": "香港",
}

// inHan writes a company in Han characters: words it has in common with others translated, the
// others a character for each syllable, and the legal form last. One word at least is read by
// syllables.
func inHan(d *draft) bool {
	line, brand, form := "", false, ""
	for i := 0; i < len(d.words); i++ {
		key := bare(d.words[i].written())
		if key == "hong" && i+1 < len(d.words) && bare(d.words[i+1].text) == "kong" {
			key, i = "hongkong", i+1
		}
		switch {
		case d.words[i].part == partForm:
			form = "有限公司"
		case key == "" || key == "and":
		case hanWords[key] != "":
			line += hanWords[key]
		default:
			signs := spellSyllables(hanSyllables, key)
			if signs == "" {
				return false
			}
			line, brand = line+signs, true
		}
	}
	d.line = line + form
	return brand && form != ""
}

// chineseCompany is a company with a legal form that is listed in Latin alone.
func chineseCompany(s *Subject) bool {
	return s.Type == ofac.Company && s.latinOnly() && s.count(partForm) > 0 && s.count(partWord) > 1
}

// chineseInHan are the names of the Chinese culture, in the same order, in Han characters.
const (
	givenInHan  = "伟 芳 娜 敏 静 强 磊 军 洋 勇 娟 杰 涛 明 晓明 建国 秀英 桂英"
	familyInHan = "王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙 马 朱 胡 郭"
)

// hanNames returns the ordinary Chinese names in Han characters, but those whose pinyin equals a
// listed name: the family is to be compared with that of the pinyin.
func hanNames(l *Listed) (names []string) {
	given, family := strings.Fields(givenInHan), strings.Fields(familyInHan)
	for i := range cultures {
		c := &cultures[i]
		if c.name != "chinese" {
			continue
		}
		for k, name := range c.cross() {
			if !l.Equals(name) {
				names = append(names, family[k%len(family)]+given[k/len(family)])
			}
		}
	}
	return names
}
