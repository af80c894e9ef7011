${global_variables['db_pass'] | h}
${global_variables['db_pass'] | x}
${global_variables['db_pass'] | u}
${'  pad  ' | trim}|
${'<' | n}
${'a b/c?d=é&f' | u}
${' <x> ' | trim, h}
${'<x>' | h, h}
${' <x> ' | h,trim}
${'<x>' | h,x}
${port | str}
${port | unicode}
${'é' | decode.utf8}
${port | n,h}
