"""Which languages lid.wide adds, what it calls them, and under which codes the free texts have them."""

# ISO 639-3 codes: languages with many speakers or translations that py3langid 0.4 lacks, then those of lid.176. Those
# without a text of 60 n-grams are left out.
ADDED = (
    "bem bod div ewe fij mri nya smo ssw tah tir ton tsn tso ven wol run mww hnj nbl "
    "ast ava bar bho bpy bxr ceb che chv cor cos diq dsb eml frr glv gsw hif hsb ido ile ilo ina jbo krc lez lim lmo "
    "mai mhr mrj mwl myv mzn nap nds new oss pam pms pnb roh sah scn sco snd srd sun tyv vep vls war xal xmf ydd "
    "cbk cha csb"
).split()

# What differs from the text's code: ISO 639-1 where there is one, as lid.176 has it.
LABELS = dict(
    pair.split(":")
    for pair in (
        "bod:bo div:dv ewe:ee fij:fj mri:mi nya:ny smo:sm ssw:ss tah:ty tir:ti ton:to tsn:tn tso:ts ven:ve wol:wo "
        "run:rn nbl:nr ava:av che:ce chv:cv cor:kw cos:co glv:gv ido:io ile:ie ina:ia lim:li oss:os roh:rm snd:sd "
        "srd:sc sun:su ydd:yi bho:bh bxr:bxr cha:ch kik:ki sdh:ckb"
    ).split()
)

# py3langid's code -> the ISO 639-3 codes under which the free texts have that language.
TEXT_CODES = {
    name: codes.split(",")
    for name, codes in (
        pair.split(":")
        for pair in """
af:afr am:amh ar:apc,arz,ars,acm,arb,ary as:asm az:azb,azj be:bel bg:bul bn:ben br:bre bs:cnr,srp,bos,hrv ca:cat
cs:ces cy:cym da:dan de:deu el:ell en:eng eo:epo es:spa et:ekk eu:eus fa:pes,prs,fas fi:fin fr:fra fy:fry ga:gle
gd:gla gl:glg gu:guj ha:hau he:heb hi:hin hr:cnr,srp,bos,hrv ht:hat hu:hun hy:hye id:ind,min,zsm ig:ibo is:isl it:ita
ja:jpn jv:jav ka:kat kk:kaz km:khm kn:kan ko:kor ku:kmr,sdh,ckb ky:kir la:lat lg:lug ln:lin lo:lao lt:lit lv:lvs
mg:plt mk:mkd ml:mal mn:khk mr:mar ms:ind,min,zsm my:mya ne:npi nl:nld no:nob,nno om:hae,gaz or:ory pa:pan pl:pol
ps:pbu,pbt pt:por qu:que,quy,quz ro:ron ru:rus sa:san si:sin sk:slk sl:slv so:som sq:aln sr:cnr,srp,bos,hrv sv:swe
sw:swh ta:tam te:tel th:tha tl:tgl,fil tr:tur ug:uig uk:ukr ur:urd uz:uzn vi:vie xh:xho yo:yor zh:cmn,lzh,wuu,yue
zu:zul dz:dzo rw:kin se:sme sn:sna st:sot an:arg ary:apc,arz,ars,acm,arb,ary fo:fao fuv:fub,fuf,fuv lb:ltz wa:wln
sdh:kmr,sdh,ckb arz:apc,arz,ars,acm,arb,ary ba:bak mt:mlt nn:nob,nno oc:oci tg:tgk tk:tuk tt:tat vo:vol
wuu:cmn,lzh,wuu,yue yue:cmn,lzh,wuu,yue
""".split()
    )
}

# CLDR's code -> ISO 639-3, where the texts have a language under another one.
THREE = dict(
    pair.split(":")
    for pair in """
aa:aar ab:abk af:afr ak:aka am:amh an:arg ar:arb as:asm av:ava ay:aym az:azb ba:bak be:bel bg:bul bm:bam bn:ben bo:bod
br:bre bs:bos ca:cat ce:che ch:cha co:cos cs:ces cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng eo:epo
es:spa et:ekk eu:eus fa:pes ff:ful fi:fin fil:fil fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj
gv:glv ha:hau he:heb hi:hin hr:hrv ht:hat hu:hun hy:hye ia:ina id:ind ie:ile ig:ibo ik:ipk io:ido is:isl it:ita iu:iku
ja:jpn jv:jav ka:kat kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kmr kv:kom kw:cor ky:kir
la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lvs mg:plt mi:mri mk:mkd ml:mal mn:khk mr:mar ms:zsm mt:mlt
my:mya na:nau nb:nob nd:nde ne:npi nl:nld nn:nno no:nob nr:nbl nv:nav ny:nya oc:oci om:gaz or:ory os:oss pa:pan pl:pol
ps:pbu pt:por qu:que rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk sl:slv
sm:smo sn:sna so:som sq:als sr:srp ss:ssw st:sot su:sun sv:swe sw:swh ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl
tn:tsn to:ton tr:tur ts:tso tt:tat tw:aka ty:tah ug:uig uk:ukr ur:urd uz:uzn ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho
yi:ydd yo:yor za:zha zh:cmn zu:zul
""".split()
)

# Close pairs that a second look distinguishes.
PAIRS = [("rw", "rn")]

# The most frequent words of English, which are in no list of common words: pages in other languages have English beside
# them, in menus, notices and quotations, and it says nothing of the rest.
ENGLISH = frozenset(
    "the of and to in a is that for it as was with be by on not at are this have from or an which".split()
)
