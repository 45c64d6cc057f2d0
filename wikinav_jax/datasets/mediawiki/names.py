"""Names that MediaWiki knows in every wiki: namespaces, languages, sister projects."""

from __future__ import annotations

FILE, CATEGORY, MEDIA = 6, 14, -2

# English names work in every wiki; the local ones come from the dump's siteinfo.
CANONICAL_NAMESPACES = {
    "media": MEDIA,
    "special": -1,
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "file": FILE,
    "image": FILE,
    "file talk": 7,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": 10,
    "template talk": 11,
    "help": 12,
    "help talk": 13,
    "category": CATEGORY,
    "category talk": 15,
    "module": 828,
    "module talk": 829,
}

# Aliases of "File" and "Category" in other languages. A dump's siteinfo lists only the name in
# force, while its pages still use older ones (German "Bild:", French "Image:").
_FILE_ALIASES = """
    afbeelding arquivo archivo bestand bild datei delwedd dosya eikona failas fails faili fichier
    ficheiro fil fitxer fitxategi fișier fişier fájl hình imaginea imagine imagem imagen
    immagine irudi kuva kép lêer mynd obraz obrázek obrázok paveikslas pilt pilti plik grafika
    resim skeudenn slika soubor súbor tiedosto tập_tin tệp_tin datoteka berkas gambar
    imatge imaxe ìomhaigh íomhá dosiero attēls файл изображение слика датотека выява зображення
    файле картинка εικόνα αρχείο պատկեր ფაილი სურათი ملف صورة پرونده تصویر فائل קובץ תמונה
    चित्र फ़ाइल চিত্র படிமம் பட ദസ്ത്രം ചിത്രം దస్త్రం బొమ్మ ಚಿತ್ರ ไฟล์ ภาพ 파일 그림 ファイル 画像 文件 檔案 档案
    图像 圖像 圖片 图片
"""
_CATEGORY_ALIASES = """
    categoria categoría categorie catégorie kategori kategoria kategorie kategorija
    kategorio kategooria kategória kategoriya kategoreja kategorya luokka flokkur rummad catigurìa
    catégorîe kategoriija thể_loại категория категорія категорија катэгорыя κατηγορία
    կատեգորիա կատեգորիա კატეგორია تصنيف رده زمرہ קטגוריה श्रेणी वर्ग বিষয়শ্রেণী பகுப்பு വർഗ്ഗം
    వర్గం ವರ್ಗ หมวดหมู่ 분류 カテゴリ 分类 分類
"""
NAMESPACE_ALIASES = {
    **{name.replace("_", " "): FILE for name in _FILE_ALIASES.split()},
    **{name.replace("_", " "): CATEGORY for name in _CATEGORY_ALIASES.split()},
}

# Prefixes of links between the languages of a project.
_LANGUAGES = """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az
    azb ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br
    bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb cmn co cr crh cs csb cu cv cy cz da dag
    de dga din diq dk dsb dtp dty dv dz ee egl el eml en eo epo es et eu ext fa fat ff fi fiu-vro
    fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha
    hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam
    jbo jp jv ka kaa kab kaj kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv
    kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh lzz mad mai map-bms mdf mg
    mh mhr mi min minnan mk ml mn mni mnw mo mos mr mrj ms mt mul mus mwl my myv mzn na nah nan nap
    nb nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nv ny oc olo om or os pa pag pam pap pcd
    pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw
    sa sah sat sc scn sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn sn so sq sr srn ss
    st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum
    tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh
    zh zh-cfr zh-classical zh-cn zh-min-nan zh-tw zh-yue zu
"""
LANGUAGES = frozenset(_LANGUAGES.split())

# Prefixes of other sites: their links have text, but lead out of the wiki.
_SISTERS = """
    arxiv b betawikiversity bugzilla c commons d doi foundation gerrit google hdl iarchive incubator
    issn lccn m mail mediawikiwiki mediazilla meta metawikimedia mw n oeis orcid outreach phab
    phabricator pmid q rev s species svn tools toollabs toolforge translatewiki v voy w wikia
    wikibooks wikidata wikimedia wikinews wikipedia wikiquote wikisource wikispecies wikiversity
    wikivoyage wikt wiktionary wmf wmflabs
"""
SISTERS = frozenset(_SISTERS.split())

# The first word of a redirect, where a dump has no <redirect> element. Compared case-folded.
_REDIRECT_WORDS = """
    redirect redirection redireccion redirección redirecionamento weiterleitung rinvia
    doorverwijzing przekieruj patrz tam přesměruj ohjaus uudelleenohjaus omdirigering omdirigera
    viderestilling omdirigér átirányítás redirectare redirecţioneaza redirecționează yönlendirme
    yönlendi̇rme yönlendir yönlendi̇r перенаправление перенапр перенаправлення виклик пренасочване
    преусмери преусмјери
    пренасочување перанакіраванне ανακατευθυνση ανακατεύθυνση վերահղում გადამისამართება
    تحويل تغییر_مسیر
    تغییرمسیر רד הפניה अनुप्रेषित पुनर्प्रेषित পুনর্নির্দেশ வழிமாற்று തിരിച്ചുവിടുക దారిమార్పు เปลี่ยนทาง 넘겨주기 転送
    リダイレクト 重定向 重新導向 đổi preusmeri айдау رجوع_مکرر
    birzuzendu redirecció alih lencong tilvísun preusmeritev
    peradresavimas suunamine
    pāradresācija alidirektu
"""
REDIRECT_WORDS = frozenset(word.casefold() for word in _REDIRECT_WORDS.split())

_ASCII = "en simple sco ja ko th km lo my wuu yue gan lzh id ms jv su"
# Languages whose link trails are MediaWiki's default, a-z.
ASCII_TRAILS = frozenset(_ASCII.split())
# Languages whose trails are Devanagari, vowel signs and all.
DEVANAGARI_TRAILS = frozenset(("hi", "sa", "mai", "bh", "bho", "mag", "awa"))
# Languages with dotted and dotless i.
DOTTED_I = frozenset(("tr", "az", "kaa", "gag"))
# Languages written in several scripts, with -{ }- around what differs.
VARIANTS = frozenset(("zh", "gan", "sr", "sh", "kk", "ku", "iu", "shi", "uz", "tg", "crh"))
