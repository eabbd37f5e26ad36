package text

import "strings"

// abjadNames are frequent names in Arabic, Persian and Hebrew. Each line has a Latin form, a colon, and the
// written words that are read so, without article. It adds to arabicSource.
const abjadNames = `
hamas: حماس
daesh: داعش
qaida: قاعدة قاعده
taliban: طالبان
houthi: حوثي حوثیون
ansarallah: انصارالله
kataib: كتائب
abdullah: عبدالله عبداللە
abdurrahman: عبدالرحمن عبدالرحمان
abdulmalik: عبدالملك عبدالمالک
abdulhamid: عبدالحميد
abdulmajid: عبدالمجيد
abdulrazzaq: عبدالرزاق
abdulsalam: عبدالسلام
abdulwahab: عبدالوهاب
abdulrashid: عبدالرشيد
abdulghani: عبدالغني
abdullatif: عبداللطيف
abdulhalim: عبدالحليم
abdulhakim: عبدالحكيم
abdulbaqi: عبدالباقي
abdulhadi: عبدالهادي
abdulreza: عبدالرضا
abdulhossein: عبدالحسين
bint: بنت
osman: عصمان
yunus: يونس
hafiz: حافظ
imam: امام
ridha: رضى
shahid: شهيد
ilyas: الياس
taha: طه
yasin: ياسين
mahmoud: محمود
mahdi: مهدى
ali: على
hadi: هادى
sami: سامى
rami: رامى
mohammad: מוחמד מוחמאד
ahmad: אחמד
mahmoud: מחמוד
ali: עלי
hassan: חסן חסאן
hussein: חוסיין חוסין
abdullah: עבדאללה
abd: עבד
ibrahim: איבראהים אברהים
ismail: איסמעיל אסמאעיל
yusuf: יוסוף יוסף יוסוף
omar: עומר עומאר
khalid: חאלד
mustafa: מוסטפא מוצטפא
said: סעיד
salah: סלאח צלאח
musa: מוסא
isa: עיסא
yahya: יחיא
bin: בן אבן
abu: אבו
al: אל
david: דוד
moshe: משה
abraham: אברהם
isaac: יצחק
jacob: יעקב
sarah: שרה
rachel: רחל
cohen: כהן
levi: לוי
daniel: דניאל
michael: מיכאל
haim: חיים
shlomo: שלמה
shimon: שמעון
elijah: אליהו
benjamin: בנימין
`

// abjadTranslations are words that are translated in names of companies and organisations.
const abjadTranslations = `
company: شركت شركات الشركه
corporation: كوربوريشن کورپوریشن
group: مجموعة مجموعه گروه جروب كروب گروپ קבוצת קבוצה
trading: تجاري تجارى بازرگاني بازرگانی تريدنج تريدينغ تريدينج ترادينغ תריידינג
trade: تجارت سوداگري מסחר סחר
commercial: التجارية تجارية تجاريه מסחרי מסחרית
exchange: صرافة صرافه صرافی صرافي للصرافة الصرافة
money: نقود
bank: مصارف البنك בנק
foundation: بنياد بنیاد وقف קרן
organization: منظمة منظمه سازمان تنظيم هيئة ארגון
association: انجمن رابطة اتحاديه עמותת עמותה
society: جمعيه
institute: انستيتو معهد پژوهشگاه מכון
university: جامعة جامعه دانشگاه אוניברסיטת אוניברסיטה
college: كلية کالج
center: مركز مرکز سنتر מרכז
office: مكتب دفتر משרד
ministry: وزارة وزارت
committee: لجنة كميته ועדה
council: مجلس شورای
movement: תנועת תנועה
brigade: لواء كتيبة تيپ
brigades: كتائب
battalion: گردان
army: ارتش צבא
corps: سپاه
force: قوة نيروی نیروی
forces: قوات نيروهای
guard: پاسداران حرس
industries: صنائع للصناعات صناعات الصناعات صنایع תעשיות
industrial: صناعي صناعية صنعتی תעשייתי
industry: صناعة للصناعة صنعت תעשייה
shipping: شحن للشحن ملاحة كشتيرانی کشتیرانی كشتيراني ספנות
maritime: بحرية بحري دريايی دریایی ימית
marine: مارين مارین
transport: نقل حمل ترابری תחבורה
transportation: مواصلات
services: خدمات للخدمات سيرفس שירותי שירותים
service: خدمة خدمت שירות
general: عام عمومي عمومی جنرال ژنرال כללי כללית
international: دولي دولية دوليه بينالمللی بینالمللی المللی انترناشيونال انترناشونال انترناشیونال בינלאומי בינלאומית
national: وطني وطنية وطنيه ملي ملی לאומי לאומית
islamic: اسلامي اسلامية اسلاميه اسلامی אסלאמי
arab: عربي عرب
arabic: عربية
limited: محدودة محدوده محدود ليمتد ليمتيد ليميتد בעמ
llc: ذمم شذمم ذممم
fze: ممح شمح
holding: قابضة قابضه هلدینگ هولدنغ هولدينغ هولدينج אחזקות
investment: استثمار للاستثمار سرمايهگذاری سرمایهگذاری سرمايه سرمایه השקעות
investments: استثمارات انفستمنت
finance: مالية مالي مالی فاينانس פיננסים
insurance: تامين تأمين للتأمين بيمه بیمه ביטוח
import: استيراد للاستيراد واردات יבוא
export: تصدير للتصدير صادرات יצוא
oil: نفط زيت نفت שמן
gas: غاز گاز גז
petroleum: بترول بتروليوم پتروليوم نفطية נפט
petrochemical: بتروكيماويات پتروشيمی پتروشیمی بتروكيميائية
energy: طاقة للطاقة انرژی انرژي אנרגיה
electric: كهربائية برقی
electricity: كهرباء برق חשמל
electronics: الكترونيات الكترونيك الکترونیک אלקטרוניקה
electronic: الكترونية الکترونيکی
technology: تكنولوجيا تقنية تكنولوجی فناوری فناوري טכנולוגיה
technologies: تقنيات تكنولوجيز טכנולוגיות
technical: فني فنية فنی
engineering: هندسة للهندسة مهندسی مهندسي הנדסה
construction: انشاءات بناء انشاء ساختمانی ساختماني عمران בנייה
contracting: مقاولات للمقاولات پیمانکاری
development: تنمية تطوير توسعه פיתוח
production: انتاج توليد
manufacturing: تصنيع توليدی تولیدی
factory: مصنع كارخانه کارخانه מפעל
steel: صلب فولاد פלדה
iron: حديد آهن ברזל
metals: معادن فلزات מתכות
mining: تعدين معدني معدنی
chemical: كيماوية كيميائية شيميايی شیمیایی כימית
chemicals: كيماويات
aviation: طيران للطيران هوانوردی תעופה
airlines: طيران هواپيمايی هواپیمایی
air: جوی جوية هوايی هوایی אוויר
aerospace: هوافضا فضاء
telecommunications: اتصالات للاتصالات مخابرات
media: اعلام للاعلام رسانه
news: اخبار خبرگزاری
television: تلفزيون تلويزيون
radio: اذاعة راديو
network: شبكة شبکه
travel: سفريات سفر سياحة مسافرت
tourism: سياحه گردشگری
agency: وكالة آژانس
agencies: وكالات
real: عقارية
estate: عقارات
food: اغذية غذائي غذايی
medical: طبية طبي پزشكی پزشکی רפואי
pharmaceutical: دوائية دارويی دارویی
hospital: مستشفى بيمارستان ביתחולים
research: ابحاث بحوث تحقيقات پژوهش מחקר
studies: دراسات
science: علوم علم
defense: دفاع دفاعی
space: فضايی فضا فضائية
credit: اعتباري اعتبار ائتمان
fund: صندوق קרנות
helicopter: هليكوپتر
police: پليس شرطة משטרת משטרה
intelligence: اطلاعات استخبارات מודיעין
security: امن حراسة امنيت
republic: جمهورية جمهوری
state: دولة دولت
committee: لجنه
charity: خيرية خيريه صدقة צדקה
relief: اغاثة إغاثة
martyrs: شهداء شهيدان
holy: مقدس
jihad: جهاد جهادی
revolution: ثورة انقلاب
revolutionary: انقلابی
resistance: مقاومة مقاومت
brothers: اخوان برادران אחים
sons: اولاد ابناء پسران בני
partners: شركاء شرکا שותפים
global: عالمية گلوبال جلوبال גלובל
world: عالمي جهان جهانی
middle: اوسط ميانه
east: شرق خاور
west: غرب
north: شمال
south: جنوب
gulf: خليج
golden: ذهبية زرين
gold: ذهب طلا זהב
jewelry: مجوهرات جواهرات
cars: سيارات
auto: خودرو
machinery: آليات ماشين
equipment: معدات تجهيزات
spare: قطع
parts: غيار قطعات
computer: حاسب كامبيوتر كمبيوتر کامپیوتر
systems: انظمة سيستم
solutions: حلول راهكار
supply: توريد تامينكننده
supplies: توريدات
logistics: لوجستية لوجستيك لجستيك לוגיסטיקה
consulting: استشارات مشاوره ייעוץ
management: ادارة مديريت ניהול
market: سوق بازار שוק
markets: اسواق
store: متجر فروشگاه חנות
stores: متاجر
restaurant: مطعم رستوران מסעדה
hotel: فندق هتل מלון
hotels: فنادق
free: حرة آزاد
zone: منطقة منطقه
offshore: اوفشور
syria: سوريا سورية סוריה
syrian: سوري سوريه
iran: ايران ایران איראן
iranian: ايراني ایرانی
iraq: عراق עיראק
lebanon: لبنان לבנון
yemen: يمن תימן
palestine: فلسطين פלסטין
libya: ليبيا
sudan: سودان
tehran: تهران טהראן
damascus: دمشق
dubai: دبي دبی
emirates: امارات
russia: روسيا روسیه
turkey: تركيا ترکیه
kuwait: كويت
qatar: قطر
jerusalem: قدس ירושלים
israel: ישראל
company: חברת חברה
ltd: עבמ
`

// abjadReading is the Latin form of a written word.
type abjadReading struct {
	latin      string
	translated bool
}

// abjadForms are translated always, as no names consist of them.
var abjadForms = map[string]bool{"company": true, "corporation": true, "group": true, "limited": true, "llc": true, "fze": true}

// abjadWords maps the signs of a written word to its reading.
var abjadWords = readAbjadWords()

func readAbjadWords() map[string]abjadReading {
	table, translations := map[string]abjadReading{}, map[string]bool{}
	add := func(written, latin string, translated bool) {
		var room [2 * WordBytesMax]byte
		key := string(appendSigns(room[:0], written))
		if _, known := table[key]; !known && key != "" {
			table[key] = abjadReading{latin, translated}
		}
	}
	for i, source := range [...]string{abjadTranslations, abjadNames} {
		for line := range strings.Lines(source) {
			latin, written, _ := strings.Cut(strings.TrimSpace(line), ":")
			translations[latin] = translations[latin] || i == 0 && !abjadForms[latin]
			for word := range strings.FieldsSeq(written) {
				add(word, latin, translations[latin])
			}
		}
	}
	for line := range strings.Lines(arabicSource) {
		if written, latin, found := strings.Cut(strings.TrimSpace(line), " "); found {
			add(written, latin, translations[latin])
		}
	}
	return table
}
