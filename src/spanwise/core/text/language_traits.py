"""Function words and typical letters of languages, for language detection and as stop words.

Languages without a stemmer are included so that they are not mistaken for a similar one that has a
stemmer. A question drops the function words of its language, except in English, which has the
longer list of `core.text.terms`.
"""

from __future__ import annotations

_WORDS = {
    "af": """n die het nie sy ons hulle en vir met wat is om te van kan word wees op aan moet ook
        maar as nog hierdie daardie jy ek hy hoe waar""",
    "ar": """في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين كيف لماذا هل كم أي
        أو ثم لا لم لن قد كان كانت يكون هو هي هم نحن أنت أنا إن أن إذا بعد قبل عند عندما بين حتى كل
        بعض غير ولا وهو وهي كما لكن منذ حول خلال ليس لدى ضد حيث أيضا عليه فيه منه""",
    "az": """və bu bir ilə üçün olan da də ki o ən çox daha sonra kimi hər nə kim harada necə niyə
        neçə hansı edir deyil var olaraq""",
    "bg": """и на за се от да не са по като но или че той тя ще най към което който която които
        този тази това беше бъде при след преди между както може само още има няма също какво къде
        кога защо колко със във тя го му си""",
    "ca": """el la els les de del dels i a al als en amb per que és un una uns unes no es són ha han
        va ser com més però o si també quan on quin quina quins qui què quant quants aquest aquesta
        aquests aquestes aquell aquella seu seva seus seves entre sobre fins molt ho hi li ja tot
        tots cada sense des després abans perquè pot l d s n""",
    "cs": """a v na se je že s z do o k pro ve za po od by i jako jsou byl byla bylo byly bude být
        jeho její jejich které který která kteří co kdo kdy kde jak proč kolik ale nebo podle při
        před mezi také není aby než už jen ještě tento tato toto této tyto ten ta to ze si tak pokud
        může lze jaký jaká jaké""",
    "cy": """yn y yr o i ar ac mae wedi ei ni am bod nid eu â hyn oedd gan fel neu pan pwy beth ble
        pryd sut pam sawl""",
    "da": """og i at det er en den til på de af for med som ikke der et var har fra kan om eller men
        sig også han hun vi jeg du hvad hvem hvor hvornår hvordan hvorfor hvilken hvilket hvilke
        mange meget efter ved blev bliver være været skal vil ville kunne nogle kun sin sit sine
        hans hendes deres denne dette disse ind ud mod mellem under over når så""",
    "de": """der die das den dem des und in zu mit von ist im für auf nicht ein eine einen einem
        einer eines sich auch es an als bei nach wie aus am werden wird wurde wurden war waren sind
        hat haben hatte hatten kann können oder aber um zum zur durch über vor bis noch nur wenn
        dass daß sein seine seiner seinem seinen ihr ihre ihrer ihren ihrem was wer wo wann warum
        welche welcher welches welchem welchen wieviel viel viele diese dieser dieses diesem diesen
        man er sie wir ich du unter zwischen gegen seit ohne sowie beim vom ins""",
    "el": """και το η ο τα του της των τον την στο στη στην στον στα σε με για από που είναι να θα
        δεν ένα μια ένας μία οι τους τις ως αν ότι ή αλλά όπως κατά προς μετά πριν μεταξύ πολύ πιο
        αυτό αυτή αυτός αυτά τι ποιος ποια ποιο ποιοι πότε πού πώς γιατί πόσο πόσα πόσοι ήταν έχει
        έχουν είχε μπορεί όταν κάθε χωρίς μας σας μη""",
    "en": """a about after all also an and are as at be been but by can for from had has have if in
        into is it its may more not of on one or other such that the their there these they this to
        was we were when which who will with would you""",
    "eo": """la de kaj en al estas ne por kun kiu kiuj kio kie kiam kiel kial kiom ke el da ĉi tiu
        tio tiuj ili li ŝi ĝi mi vi ni oni estis esti aŭ sed se ankaŭ nur pli plej tre ĉiu ĉiuj
        lia ilia ĝia per pri sur sub post antaŭ inter dum ĝis povas sen tra""",
    "es": """el la los las de del y a al en con por para que es un una unos unas no se son su sus lo
        le les como más pero o si también cuando donde qué quién quiénes cuál cuáles cuándo dónde
        cómo cuánto cuánta cuántos cuántas este esta estos estas ese esa eso fue fueron era eran ser
        ha han hay había entre sobre hasta muy ya todo todos cada sin desde después antes porque
        puede pueden está están""",
    "et": """ja on ei et see ta oli kui mis kes kas ka või aga ning seda selle nende tema oma kuid
        siis veel väga nagu pärast enne juures kus kuidas millal miks milline mitu palju ole olla
        olid saab võib need neid mille mida koos ilma kuni läbi üle alla eest järgi vahel""",
    "eu": """eta da ez bat du dira zen ziren dute izan ere baina edo hau hori zer nor non noiz nola
        zergatik zein zenbat beste bere egin bezala arte baino behar dago daude zuen zuten dela
        diren den duen duten izango ari gabe ondoren guztiak oso""",
    "fa": """و در به از که این آن را با است برای یک می خود تا بر هم نیز یا اما شد شده بود بودند کرد
        کرده هر چه چرا کجا کی چگونه چند چقدر کدام آیا اگر پس پیش بین بی همه دیگر باید شود های ها
        باشد نیست دارد دارند ما شما او آنها هستند""",
    "fi": """ja on ei että oli se hän joka jotka mutta tai myös kun niin kuin mitä mikä kuka missä
        milloin miten miksi kuinka monta paljon ovat olivat ole olla ollut tämä nämä sen hänen
        heidän sekä vain jos voi sitten ennen jälkeen kanssa mukaan vielä jo jonka joita ne he me
        te minä sinä tästä siitä mistä kaikki eivät jossa""",
    "fr": """le la les de des du et à au aux en dans avec par pour que qui est un une ne pas se sont
        son sa ses sur plus mais ou où si aussi quand comme quel quelle quels quelles quoi comment
        pourquoi combien ce cet cette ces il elle ils elles nous vous je on été était étaient être a
        ont avait leur leurs entre sans sous après avant peut fait lui y dont l d qu c n s j""",
    "ga": """agus an na i ar le is a go bhí tá do de ag sé sí siad as nó ní nach seo sin cad cé
        conas cathain mar ach chun faoi ina leis atá raibh bhfuil idir roimh tar éis cén cá mhéad
        gach nuair dá""",
    "gl": """o a os as de do da dos das e en no na nos nas con por para que é un unha uns unhas non
        se son foi máis pero ou tamén cando onde como seu súa ao á polo pola ten isto ese esta está
        entre ata moi xa""",
    "he": """של על את הוא היא לא עם זה זו כי אם או גם כל אל מן בין מה מי מתי איפה איך למה כמה האם
        היה היו אשר אך אבל רק יותר לפני אחרי הם אני אנחנו אתה ידי""",
    "hi": """का के की है हैं में से को और यह वह पर ने एक कि था थे थी हो लिए भी नहीं तो या जो इस उस
        इन उन कर क्या कौन कब कहाँ कहां कैसे क्यों कितना कितने कितनी किस किसने साथ बाद पहले तक अपने
        अपनी द्वारा गया गई गए होता होती रहा करने हुए जब सकता""",
    "hr": """i u je na se da su za od s a o kao koji koja koje što kako ili ne iz po do te bio bila
        bilo biti ali nakon prije između gdje kada zašto koliko tko ovaj ova ovo nije nisu može samo
        više već bi uz""",
    "hu": """a az és hogy nem is egy van volt ez ezt azt mint csak de már meg vagy ha el még ki mi
        mit aki ami amely amelyek hol mikor hogyan miért mennyi hány milyen melyik volt voltak lesz
        lehet kell után előtt között alatt szerint minden nagyon ő ők én vannak ezek azok nincs
        által""",
    "hy": """և է են որ մի ու այս այն նրա իր եւ ոչ բայց կամ թե ինչ ով որտեղ երբ ինչպես ինչու քանի
        որը որոնք էր էին համար հետ մեջ վրա նաև այդ եմ իսկ ըստ մինչև պետք""",
    "id": """dan yang di ke dari untuk dengan pada adalah ini itu tidak dalam oleh sebagai juga akan
        atau karena oleh seperti saya anda dia mereka kami kita apa siapa kapan di mana bagaimana
        mengapa berapa telah sudah bisa dapat ada antara setelah sebelum tetapi jika lebih para
        tersebut secara hanya bahwa menjadi""",
    "is": """og að í á er sem ekki til um það við en var með fyrir af eru þetta hann hún ég þú hvað
        hver hvar hvenær hvernig eða frá þegar þeir verið hefur""",
    "it": """il lo la i gli le di del dello della dei degli delle e a al alla ai in nel nella con su
        sul per da dal dalla che chi cosa è un una uno non si sono come più ma o anche quando dove
        perché quale quali quanto quanta quanti quante questo questa questi queste suo sua suoi sue
        era erano fu essere stato ha hanno tra fra dopo prima molto ogni ci loro se può l d all
        dell nell dall c""",
    "kk": """және бұл мен үшін бір де да ол емес болып керек бар жоқ кім не қайда қашан қалай неге
        қанша осы сол бойынша арқылы немесе""",
    "lt": """ir yra kad į iš su o bet ar tai kaip kas kur kada kodėl kiek koks kokia kuris kuri
        kurie buvo būti bus jo jos jų ne nėra per po prie už nuo iki taip pat dėl tik dar jau jis ji
        jie šis ši šio tarp prieš be ant gali apie""",
    "lv": """un ir ka ar no uz par kas kur kad kā kāpēc cik kurš kura vai arī bet tas tā šis šī bija
        būt nav pēc pirms starp tikai vēl jau viņš viņa to tiek kā pie bez""",
    "mk": """и на во се да од за со не е што како или кој која кои тоа овој оваа беше биде по пред
        меѓу каде кога зошто колку само може ќе ги му""",
    "mr": """आणि आहे आहेत या हे ही तो ती ते व च मध्ये साठी पासून नाही होते होता होती एक किंवा पण
        काय कोण कधी कुठे कसे का किती असे त्या करणे केले झाले आले तर""",
    "ms": """dan yang di ke daripada untuk dengan pada adalah ini itu tidak dalam oleh sebagai juga
        akan atau kerana ialah boleh telah tiada""",
    "ne": """छ छन् को का की मा ले लाई र यो त्यो भने पनि हो थियो थिए गर्न गरेको भएको हुने हुन्छ छैन
        तथा वा एक यस उनी के कहाँ कहिले किन कसरी कति कुन कसले बाट सँग देखि सम्म लागि अनि तर गर्नुहोस्
        गर्ने गरी""",
    "nl": """de het een en van in is op te dat die voor met zijn aan niet door als bij ook naar om
        uit werd worden wordt heeft hebben had of maar dan nog wel wat wie waar wanneer waarom hoe
        welke welk hoeveel deze dit er hij zij ze we ik je over tot onder tussen na kan kunnen zal
        hun haar was waren geen meer""",
    "no": """og i at det er en den til på de av for med som ikke et var har fra kan om eller men seg
        også han hun vi jeg du hva hvem hvor når hvordan hvorfor hvilken hvilket hvilke mange mye
        etter ved ble blir være vært skal vil ville kunne noen bare sin sitt sine hans hennes deres
        denne dette disse inn ut mot mellom under over så ikkje eg ein""",
    "pl": """i w na z się do nie że jest o to od za po jak przez dla ale czy oraz lub który która
        które którzy co kto kiedy gdzie jak dlaczego ile jaki jaka jakie był była było były być
        został została są jego jej ich ten ta tego tej tym przed między także tylko już jeszcze może
        być ze we przy pod może gdy jeśli""",
    "pt": """o a os as de do da dos das e em no na nos nas com por para que é um uma uns umas não se
        são seu sua seus suas como mais mas ou também quando onde quem qual quais quanto quanta
        quantos quantas este esta isto esse essa isso foi foram era eram ser há tem têm entre sobre
        até muito já ao à aos às pelo pela sem depois antes porque pode está""",
    "ro": """și şi în de la cu pe a al ai ale din pentru că este sunt nu se un o mai sau dar care ce
        cine când unde cum cât câte câți câtă ale lui ei lor fost era erau fi fie are au prin după
        înainte între foarte doar acest această acesta aceasta acestui să va vor dacă către până
        fără""",
    "ru": """и в на не что с по к из за от для о как но или это был была было были быть его её ее их
        он она они мы вы я у до при после перед между который которая которое которые кто где когда
        почему зачем сколько какой какая какое какие также только уже ещё если же бы ли чтобы так
        все всех во со об может без под если""",
    "sk": """a v na sa je že s z do o k pre vo za po od by aj ako sú bol bola bolo boli bude byť
        jeho jej ich ktoré ktorý ktorá ktorí čo kto kedy kde prečo koľko ale alebo podľa pri pred
        medzi nie aby než už len ešte tento táto toto môže""",
    "sl": """in v na se je da so za od z s kot ki ne po do pri iz ali tudi bil bila bilo biti kaj
        kdo kje kdaj kako zakaj koliko pred med ta to te ni lahko vendar zelo samo še že bo če""",
    "sq": """dhe në të e i një për me nga që është nuk si ka ose por kjo ky janë ishte duke do pas
        çfarë kush ku kur pse sa""",
    "sr": """и у је на се да су за од с а о као који која које што шта како или не из по до те био
        била било бити али после пре између где када зашто колико ко овај ова ово није нису може
        само више већ би i u je na se da su za od kao koji koja koje šta što kako ili iz posle pre
        gde kada koliko ko ovaj nije nisu bi""",
    "st": """le ho ke ba ya wa e o ka ha mme hore tsa la sa di ka mo tse bo se ne bona eng mang kae
        neng jwang hobaneng kapa empa haholo hape fela ena eo bang""",
    "sv": """och i att det är en den till på de av för med som inte ett var har från kan om eller
        men sig också han hon vi jag du vad vem var när hur varför vilken vilket vilka många mycket
        efter vid blev blir vara varit ska skall vill ville kunde några bara sin sitt sina hans
        hennes deras denna detta dessa in ut mot mellan under över så finns inte""",
    "ta": """ஒரு என்று இந்த அந்த என மற்றும் உள்ள இது அது என்ன யார் எங்கே எப்போது எப்படி ஏன் எத்தனை
        எவ்வளவு எந்த ஆகும் இருந்து மூலம் போன்ற அவர் அவர்கள் இல்லை வேண்டும் பின்னர் முன் வரை""",
    "tr": """ve bir bu da de için ile olarak olan ne en çok gibi daha kadar sonra önce ama veya ya
        o ki mi mı mu mü değil var yok her şey nasıl neden niçin kim kime nerede nereye hangi kaç
        oldu olduğu olduğunu olur edilir ise tarafından arasında üzerinde göre ancak hem sadece
        şu""",
    "uk": """і й в у на не що з за до від для про як але або це був була було були бути його її їх
        він вона вони ми ви я при після перед між який яка яке які хто де коли чому скільки також
        тільки вже ще якщо та у щоб так""",
    "ur": """کے کی کا میں ہے ہیں اور سے کو نے پر یہ وہ ایک کہ تھا تھے تھی بھی نہیں اس ان جو تو یا
        کیا کون کب کہاں کیسے کیوں کتنے لیے ساتھ بعد گیا""",
    "vi": """và của là có trong được cho không một các những với này đó để khi từ đã người về như
        ở gì ai đâu nào sao bao nhiêu thì cũng nhưng hoặc tại do""",
    "yi": """און די דער דאָס איז אין אַ פֿון צו מיט פֿאַר אויף נישט ניט זיי ער זי מען האָט האָבן
        זײַן וואָס ווער ווו ווען ווי פֿאַרוואָס אָבער אָדער אויך אַן עס זענען געווען קען דעם אין אַז
        ביי נאָך""",
}

FUNCTION_WORDS = {language: frozenset(text.split()) for language, text in _WORDS.items()}
"""Function words by language (ISO 639-1), in lower case, composed (NFC)."""

LETTERS = {
    "af": "êëôöûïé", "ar": "", "az": "əğçşıöü", "bg": "ъ", "ca": "àçèéíïòóúü",
    "cs": "áčďéěíňóřšťúůýž",
    "cy": "âêîôûŵŷ", "da": "æøå", "de": "äöüß", "en": "", "eo": "ĉĝĥĵŝŭ", "es": "áéíñóúü",
    "et": "äõöüšž", "eu": "ñ", "fa": "پچژگیک", "fi": "äöå", "fr": "àâçèéêëîïôùûœ", "ga": "áéíóú",
    "gl": "áéíñóúü", "he": "", "hi": "", "hr": "čćđšž", "hu": "áéíóöőúüű", "id": "",
    "is": "áðéíóúýþæö", "it": "àèéìòù", "kk": "әіңғүұқөһ", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž",
    "mk": "ѓќѕјљњџ", "mr": "ळ", "ms": "", "ne": "", "nl": "ëéïö", "no": "æøå", "pl": "ąćęłńóśźż",
    "pt": "áâãàçéêíóôõú", "ro": "ăâîșțşţ", "ru": "ёыэъ", "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž",
    "sq": "çë", "sr": "čćđšžђјљњћџ", "st": "", "sv": "åäö", "tr": "çğıöşüâ", "uk": "іїєґ",
    "ur": "ٹڈڑےںہھپچگیک", "vi": "ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ", "yi": "ײױװ",
}  # fmt: skip
"""Lower-case letters by language that few other languages of its script have; "" for none."""
