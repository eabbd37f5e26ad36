package text

import "strings"

// companyMarks show that a name of a few characters is not a person's.
var companyMarks = [...]string{"公司", "集团", "银行", "会社", "有限", "协会", "大学", "公社", "组织", "基金", "商会", "商社", "商行", "工厂", "研究", "组"}

// companyWordSource has the words of companies' names and what they mean there, written from
// common knowledge. A blank within a meaning is "_".
const companyWordSource = `
有限公司=co_ltd 有限责任公司=co_ltd 股份有限公司=co_ltd 责任有限公司=co_ltd 公司=company 总公司=general_company 分公司=branch 子公司=subsidiary 集团=group 集团公司=group_company 集团有限公司=group_co_ltd
株式会社=co_ltd 有限会社=co_ltd 会社=company 股份=stock 控股=holding 总社=general_company 厂=factory 工厂=factory 总厂=general_factory 研究所=research_institute 研究院=institute 大学=university 学院=institute 中心=center
银行=bank 商业银行=commercial_bank 保险=insurance 证券=securities 金融=financial 投资=investment 基金=fund 资本=capital 财务=finance 信托=trust 租赁=leasing 资产=asset 资源=resources 信用=credit
贸易=trading 商贸=trading 经贸=trading 国贸=trade 工贸=industry_and_trade 外贸=foreign_trade 商业=commercial 商务=business 商社=trading 商行=trading 进出口=import_and_export 进口=import 出口=export 经济=economic 运贸=transportation_trading 贸易会社=trading_company
国际=international 全球=global 环球=global 世界=world 通用=general 联合=united 中央=central 新世纪=new_century 北方=north 南方=south 东方=eastern 西方=western 亚洲=asia 欧洲=europe 非洲=africa 东亚=east_asia 亚太=asia_pacific
科技=technology 技术=technology 高科技=high_technology 高新技术=high_technology 科学=science 信息=information 信息技术=information_technology 网络=network 软件=software 电脑=computer 计算机=computer 数据=data 数码=digital 数字=digital 智能=intelligent 云计算=cloud_computing 系统=system 创新=innovation 区块链=blockchain 互联网=internet 在线=online
电子=electronics 微电子=microelectronics 电气=electric 电器=electric 电力=electric_power 机电=electromechanical 光电=optoelectronics 光电子=optoelectronics 光学=optical 半导体=semiconductor 芯片=chip 通信=communication 通讯=communication 激光=laser 微波=microwave 无线=wireless 仪器=instrument 自动化=automation 数控=numerical_control 机床=machine_tool 机械=machinery 机器=machinery 设备=equipment 装备=equipment 重工=heavy_industries 重装=heavy_equipment 精密=precision 制造=manufacturing 工业=industrial 实业=industry 产业=industry 工程=engineering 建设=construction 建筑=construction 建材=building_materials
化工=chemical 化学=chemical 精细化工=fine_chemical 石油=petroleum 石化=petrochemical 石油化工=petrochemical 原油=crude_oil 油品=oil_products 天然气=gas 燃气=gas 能源=energy 新能源=new_energy 电池=battery 煤炭=coal 矿业=mining 矿产=minerals 冶金=metallurgy 五矿=minmetals 金属=metal 钢铁=iron_and_steel 铝业=aluminium_industry 铜业=copper 合金=alloy 磁业=magnetic_industry 材料=materials 新材料=new_material 金属材料=metal_materials 碳素=carbon 塑料=plastic 橡胶=rubber 橡塑=rubber_and_plastic
航运=shipping 海运=shipping 船务=shipping 船舶=ship 船舶管理=ship_management 船舶代理=shipping_agency 运输=transportation 货运=freight 货物运输=cargo_transportation 货运代理=freight_agency 代理=agency 物流=logistics 储运=storage_and_transportation 仓储=warehousing 港务=port 港口=port 码头=terminal 远洋=ocean 海洋=marine 船运=shipping 渔业=fishery 远洋渔业=ocean_fishery 水产=fishery 航空=aviation 航天=aerospace 宇航=aerospace 发动机=engine 汽车=automobile 轮胎=tire 铁路=railway 造船=shipbuilding 供应链=supply_chain 管道=pipeline
医药=pharmaceutical 制药=pharmaceutical 药业=pharmaceutical 生物=biological 生物科技=biotechnology 生物技术=biotechnology 医疗=medical 健康=health 食品=food 餐饮=restaurant 酒店=hotel 酒业=wine 茶业=tea 农业=agriculture 纺织=textile 服装=garment 珠宝=jewellery 家具=furniture 照明=lighting 包装=packaging 印刷=printing 玩具=toys
文化=culture 传播=media 传媒=media 广告=advertising 教育=education 旅游=travel 旅行社=travel_agency 娱乐=entertainment 体育=sports 设计=design 咨询=consulting 顾问=consultancy 服务=service 管理=management 发展=development 开发=development 环境=environmental 环保=environmental 安全=security 防务=defense 国防=defense 军工=military_industry 卫星=satellite 空间=space 协会=association 商会=chamber_of_commerce 组织=organization 联盟=union 委员会=committee 办事处=office 代表处=representative_office 地产=real_estate 房地产=real_estate 物业=property 置业=property 企业=enterprise 人民=peoples 朝鲜=korea 部=department 局=bureau 公安局=public_security_bureau 生产=production 兵团=corps 工作室=studio 动漫=animation 检验=inspection 认证=certification 特种=special 性能=performance 高性能=high_performance
轴承=bearing 零部件=components 部件=components 电路=circuit 刀具=cutting_tools 精工=precision 器材=equipment 物资=materials 仪表=instrument 电缆=cable 阀门=valve 泵业=pump 模具=mould 五金=hardware 玻璃=glass 陶瓷=ceramics 纸业=paper 木业=wood 皮革=leather 鞋业=shoes 服饰=garment 饮料=beverage 粮油=grain_and_oil 水泥=cement 有色金属=nonferrous_metals 稀土=rare_earth 黄金=gold 船厂=shipyard 造船厂=shipyard 飞机=aircraft 无人机=drone 电视=television 电影=film 出版社=press 医院=hospital 学校=school
哈马斯=hamas 真主党=hizballah 塔利班=taliban 基地组织=al_qaida 伊斯兰国=islamic_state 胡塞武装=ansarallah 博科圣地=boko_haram 青年党=al_shabaab
中国=china 中华=china 香港=hong_kong 澳门=macau 台湾=taiwan 台北=taipei 台中=taichung 高雄=kaohsiung 哈尔滨=harbin 乌鲁木齐=urumqi 西藏=tibet 拉萨=lhasa 内蒙古=inner_mongolia 呼和浩特=hohhot 平壤=pyongyang 陕西=shaanxi 伊朗=iran 俄罗斯=russia 缅甸=myanmar 新加坡=singapore 马来西亚=malaysia 越南=vietnam 泰国=thailand 日本=japan 东京=tokyo 大阪=osaka 韩国=korea 迪拜=dubai 重庆=chongqing 厦门=xiamen
`

// placeSource has the places that are read as they are, without the 市 (city), 省 (province), 县
// (county) or 区 (district) behind them.
const placeSource = `北京 上海 天津 广东 广州 深圳 东莞 珠海 佛山 中山 惠州 汕头 湛江 江门 福建 福州 泉州 漳州 晋江 浙江 杭州 宁波 温州 义乌 舟山 绍兴 嘉兴 台州 金华 江苏 南京 苏州 无锡 常州 南通 扬州 徐州 连云港 镇江 江阴 张家港 昆山 太仓 启东
山东 济南 青岛 烟台 威海 潍坊 日照 东营 淄博 临沂 济宁 河北 石家庄 唐山 保定 邯郸 秦皇岛 沧州 衡水 邢台 廊坊 三河 河南 郑州 洛阳 安阳 开封 湖北 武汉 宜昌 襄阳 湖南 长沙 株洲 湘潭 江西 南昌 赣州 九江 安徽 合肥 芜湖 辽宁 沈阳 大连 丹东 营口 鞍山 吉林 长春 延边 珲春 黑龙江 大庆 山西 太原 西安 甘肃 兰州 青海 西宁 宁夏 银川 新疆 四川 成都 绵阳 贵州 贵阳 云南 昆明 广西 南宁 桂林 梅州 海南 海口 三亚 黄岛 瓦房店 蓬莱 平潭 浦东`

// companyWords maps a word to its meaning, and a place to "".
var companyWords, companyWordMost = companyLexicon()

func companyLexicon() (words map[string]string, most int) {
	words = map[string]string{}
	for field := range strings.FieldsSeq(companyWordSource) {
		word, meaning, _ := strings.Cut(field, "=")
		words[word], most = strings.ReplaceAll(meaning, "_", " "), max(most, len(word))
	}
	for place := range strings.FieldsSeq(placeSource) {
		words[place], most = "", max(most, len(place))
	}
	return words, most
}
