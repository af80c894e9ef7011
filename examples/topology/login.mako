## The config file of one instance of login.
name = ${bk_process_name}_${LocalInstID}
zone = ${SetName}
port = ${port + InstID}
% for peer in peers:
peer = ${peer}
% endfor
